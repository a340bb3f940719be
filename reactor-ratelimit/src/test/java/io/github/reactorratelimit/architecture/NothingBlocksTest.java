package io.github.reactorratelimit.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Main code neither blocks nor parks, and time comes from the limiter's scheduler alone. */
class NothingBlocksTest {

    private static final JavaClasses MAIN = MainClasses.ALL;

    /** Owner and method, both as regular expressions, by what is wrong with them. */
    private static final Map<String, List<String>> FORBIDDEN_CALLS = Map.of(
            "sleeping", List.of("java\\.lang\\.Thread#(sleep|join|yield|onSpinWait)"),
            "waiting for a monitor", List.of("java\\.lang\\.Object#wait"),
            "parking", List.of("java\\.util\\.concurrent\\.locks\\.LockSupport#park.*"),
            "waiting for others",
                    List.of(
                            "java\\.util\\.concurrent\\.(CountDownLatch|CyclicBarrier|Phaser)#await.*",
                            "java\\.util\\.concurrent\\.Semaphore#(acquire|tryAcquire).*",
                            "java\\.util\\.concurrent\\.(Future|CompletableFuture)#(get|join)",
                            "java\\.util\\.concurrent\\..*BlockingQueue#(take|put)"),
            "blocking on a publisher",
                    List.of("reactor\\.core\\.publisher\\.(Mono|Flux)#(block.*|toIterable|toStream)"),
            "reading the wall clock",
                    List.of(
                            "java\\.lang\\.System#currentTimeMillis",
                            "java\\.time\\.(Instant|LocalDate.*|ZonedDateTime|OffsetDateTime)#now",
                            "java\\.time\\.Clock#system.*"),
            "reading a clock of its own", List.of("java\\.lang\\.System#nanoTime"),
            "printing", List.of("java\\.io\\.PrintStream#.*", "java\\.lang\\.Throwable#printStackTrace"));

    @TestFactory
    Stream<DynamicTest> mainCodeNeverCalls() {
        return FORBIDDEN_CALLS.entrySet().stream()
                .map(entry -> DynamicTest.dynamicTest(
                        entry.getKey(),
                        () -> noClasses()
                                .should()
                                .accessTargetWhere(
                                        describe(entry.getKey(), access -> isForbidden(access, entry.getValue())))
                                .check(MAIN)));
    }

    private static boolean isForbidden(JavaAccess<?> access, List<String> patterns) {
        String target =
                access.getTargetOwner().getName() + "#" + access.getTarget().getName();
        return patterns.stream().anyMatch(target::matches);
    }

    @Test
    void noMethodIsSynchronized() {
        noMethods().should().haveModifier(JavaModifier.SYNCHRONIZED).check(MAIN);
    }

    /** Byte code holds no trace of such a block that ArchUnit reads, so the sources are read. */
    @Test
    void noBlockIsSynchronized() throws IOException {
        try (Stream<Path> sources = Files.walk(Path.of("src", "main", "java"))) {
            List<Path> offenders = sources.filter(path -> path.toString().endsWith(".java"))
                    .filter(path -> hasSynchronizedBlock(read(path)))
                    .toList();
            assertThat(offenders).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"synchronized (this) {", "x;synchronized(lock){", "synchronized\n  (lock) {"})
    void scanFindsSynchronizedBlocks(String source) {
        assertThat(hasSynchronizedBlock(source)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"// synchronized (this)", "/* synchronized (x) */", "\"synchronized (x)\"", "synchronizedMap(x)"
            })
    void scanOverlooksWhatIsNotCode(String source) {
        assertThat(hasSynchronizedBlock(source)).isFalse();
    }

    @Test
    void nothingUsesALoggerOfItsOwn() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("java.util.logging..", "org.slf4j..")
                .check(MAIN);
    }

    private static final Pattern NOT_CODE = Pattern.compile("(?s)//[^\n]*|/\\*.*?\\*/|\"(?:\\\\.|[^\"\\\\\n])*\"");
    private static final Pattern SYNCHRONIZED_BLOCK = Pattern.compile("\\bsynchronized\\s*\\(");

    private static boolean hasSynchronizedBlock(String source) {
        return SYNCHRONIZED_BLOCK
                .matcher(NOT_CODE.matcher(source).replaceAll(" "))
                .find();
    }

    private static String read(Path path) {
        try {
            return Files.readString(path);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
