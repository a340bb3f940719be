package io.github.reactorratelimit.webflux;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.key.WebKeys;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.asm.ClassReader;
import org.springframework.asm.ClassVisitor;
import org.springframework.asm.ClassWriter;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.server.WebHandler;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * The types of this module whose code runs for one request: allowed, denied, and as the guide lists them. The classes are
 * loaded once more, with a call of {@link ExecutedTypes} at the start of each method.
 */
class RequestPathTest {

    private static final String MODULE = "io.github.reactorratelimit.webflux.";
    private static final Path GUIDE = Path.of("..", "docs", "webflux.md");

    private DisposableServer server;

    /** Made by the class loader of the recorded classes: a server whose address has two requests. */
    public static final class Limited implements Supplier<HttpHandler> {

        @Override
        public HttpHandler get() {
            RateLimitEngine engine = RateLimitEngine.builder()
                    .rule(RateLimitRule.named("per-client")
                            .key(WebKeys.clientAddress())
                            .policy(TokenBucket.of(2, Duration.ofHours(1)))
                            .build())
                    .build();
            WebHandler handler = exchange -> exchange.getResponse().setComplete();
            return WebHttpHandlerBuilder.webHandler(handler)
                    .filter(RateLimitWebFilter.of(engine))
                    .build();
        }
    }

    private static final class RecordingLoader extends ClassLoader {

        RecordingLoader(ClassLoader parent) {
            super(parent);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(MODULE) || name.equals(ExecutedTypes.class.getName())) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known == null ? define(name) : known;
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream bytes = getResourceAsStream(name.replace('.', '/') + ".class")) {
                ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
                boolean scenario = name.startsWith(RequestPathTest.class.getName());
                new ClassReader(bytes).accept(scenario ? writer : new Recorded(writer, name), 0);
                byte[] recorded = writer.toByteArray();
                return defineClass(name, recorded, 0, recorded.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    private static final class Recorded extends ClassVisitor {

        private final String type;

        Recorded(ClassVisitor next, String type) {
            super(Opcodes.ASM9, next);
            this.type = type;
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodVisitor method = super.visitMethod(access, name, descriptor, signature, exceptions);
            return new MethodVisitor(Opcodes.ASM9, method) {
                @Override
                public void visitCode() {
                    super.visitCode();
                    visitLdcInsn(type.substring(type.lastIndexOf('.') + 1));
                    visitMethodInsn(
                            Opcodes.INVOKESTATIC,
                            ExecutedTypes.class.getName().replace('.', '/'),
                            "add",
                            "(Ljava/lang/String;)V",
                            false);
                }
            };
        }
    }

    @BeforeEach
    void start() throws Exception {
        Class<?> limited =
                new RecordingLoader(RequestPathTest.class.getClassLoader()).loadClass(Limited.class.getName());
        HttpHandler handler =
                (HttpHandler) ((Supplier<?>) limited.getConstructor().newInstance()).get();
        server = HttpServer.create()
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(handler))
                .bindNow();
    }

    @AfterEach
    void stop() {
        server.disposeNow();
    }

    private Callable<Integer> request() {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + server.port() + "/hello"))
                .build();
        return () ->
                client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    }

    /** The types of the second of two requests with this status: what the first one prepares is not met again. */
    private Set<String> typesOfOneMore(int status) throws Exception {
        Callable<Integer> request = request();
        while (request.call() != status) {
            assertThat(status).as("comes after others").isEqualTo(429);
        }
        ExecutedTypes.clear();
        assertThat(request.call()).isEqualTo(status);
        return new TreeSet<>(ExecutedTypes.names());
    }

    /** The types that the guide lists in the table row that begins so. */
    private static Set<String> listed(String row) throws IOException {
        Matcher line = Pattern.compile("(?m)^\\| " + row + " \\|(.*)\\|$").matcher(Files.readString(GUIDE));
        assertThat(line.find()).as("row '" + row + "' in " + GUIDE).isTrue();
        return Pattern.compile("`(\\w+)`")
                .matcher(line.group(1))
                .results()
                .map(found -> found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void allowedRequestMeetsAtMostFourteenTypesAsTheGuideListsThem() throws Exception {
        Set<String> met = typesOfOneMore(200);

        assertThat(met).hasSizeLessThanOrEqualTo(14);
        assertThat(listed("an allowed request meets")).isEqualTo(met);
    }

    @Test
    void deniedRequestMeetsAtMostEighteenTypesAsTheGuideListsThem() throws Exception {
        Set<String> met = typesOfOneMore(429);

        assertThat(met).hasSizeLessThanOrEqualTo(18);
        assertThat(listed("a denied request meets")).isEqualTo(met);
    }
}
