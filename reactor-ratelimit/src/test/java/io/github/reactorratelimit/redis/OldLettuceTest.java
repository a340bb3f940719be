package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.MemberRemoval;
import net.bytebuddy.matcher.ElementMatchers;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A class path with a Lettuce as it was before 7.0, whose connections do not tell their codec. */
class OldLettuceTest {

    /** Loads Lettuce and the store again, without the method that came with 7.0. */
    private static final class OldClassPath extends ClassLoader {

        OldClassPath() {
            super(OldLettuceTest.class.getClassLoader());
            definePackage("io.lettuce.core", null, null, null, "Lettuce", "6.8.2.RELEASE", null, null);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("io.lettuce.") && !name.startsWith("io.github.reactorratelimit.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? define(name) : loaded;
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            byte[] bytes = name.equals(StatefulConnection.class.getName()) ? withoutCodec() : bytes(name);
            return defineClass(name, bytes, 0, bytes.length);
        }

        private static byte[] withoutCodec() {
            return new ByteBuddy()
                    .redefine(StatefulConnection.class)
                    .visit(new MemberRemoval().stripMethods(ElementMatchers.named("getCodec")))
                    .make()
                    .getBytes();
        }

        private byte[] bytes(String name) throws ClassNotFoundException {
            try (InputStream file = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (file == null) {
                    throw new ClassNotFoundException(name);
                }
                return file.readAllBytes();
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }

    private final OldClassPath old = new OldClassPath();
    private Class<?> store;

    @BeforeEach
    void load() throws ReflectiveOperationException {
        store = old.loadClass(RedisStore.class.getName());
        assertThat(old.loadClass(StatefulConnection.class.getName()).getMethods())
                .extracting(Method::getName)
                .contains("isOpen")
                .doesNotContain("getCodec");
    }

    private void isRefused(String method, Class<?> type, Object argument) {
        assertThatThrownBy(() -> {
                    try {
                        store.getMethod(method, type).invoke(null, argument);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                })
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Lettuce 7.0 or later")
                .hasMessageContaining("6.8.2.RELEASE");
    }

    @Test
    void noStoreIsMadeOnAConnection() throws ReflectiveOperationException {
        Class<?> type = old.loadClass(StatefulRedisConnection.class.getName());
        Object connection = Proxy.newProxyInstance(old, new Class<?>[] {type}, (proxy, method, arguments) -> null);
        isRefused("of", type, connection);
    }

    @Test
    void noStoreConnects() throws ReflectiveOperationException {
        isRefused("connect", String.class, "redis://localhost");
        isRefused("connectCluster", String[].class, new String[] {"redis://localhost"});
        isRefused("connectAside", String.class, "redis://localhost");
        isRefused("connectClusterAside", String[].class, new String[] {"redis://localhost"});
        Class<?> type = old.loadClass(RedisClient.class.getName());
        Object client = type.getMethod("create").invoke(null);
        try {
            isRefused("connectAside", type, client);
        } finally {
            type.getMethod("shutdown").invoke(client);
        }
    }
}
