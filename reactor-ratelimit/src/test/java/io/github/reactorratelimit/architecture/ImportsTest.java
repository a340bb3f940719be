package io.github.reactorratelimit.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.domain.properties.HasName;
import io.github.reactorratelimit.RateLimiterBuilder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Imports go one way, and what is public is meant to be. */
class ImportsTest {

    private static final String BASE = MainClasses.BASE;
    private static final JavaClasses MAIN = MainClasses.ALL;

    /** Which packages of the library each package may look at; "" is the root. */
    private static final Map<String, Set<String>> MAY_LOOK_AT = new TreeMap<>(Map.ofEntries(
            Map.entry("", Set.of()),
            Map.entry("operator", Set.of("")),
            Map.entry("algorithm", Set.of("")),
            Map.entry("queue", Set.of("", "algorithm")),
            Map.entry("local", Set.of("", "algorithm", "queue")),
            Map.entry("hotkeys", Set.of("", "local")),
            Map.entry("redis", Set.of("", "algorithm", "queue")),
            Map.entry("replay", Set.of("", "algorithm")),
            Map.entry("spi", Set.of("", "algorithm", "queue")),
            Map.entry("retry", Set.of("")),
            Map.entry("adaptive", Set.of("", "operator", "queue")),
            Map.entry("fairness", Set.of("", "queue")),
            Map.entry("micrometer", Set.of("", "adaptive"))));

    /** What each package may use from outside, beside the JDK and JSpecify. */
    private static final Map<String, Set<String>> MAY_USE = Map.ofEntries(
            Map.entry("", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("operator", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("queue", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("local", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("hotkeys", Set.of("reactor..", "org.reactivestreams..")),
            // Lettuce tells the end of its resources by a future of Netty.
            Map.entry(
                    "redis",
                    Set.of("reactor..", "org.reactivestreams..", "io.lettuce.core..", "io.netty.util.concurrent")),
            Map.entry("retry", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("spi", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("adaptive", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("fairness", Set.of("reactor..", "org.reactivestreams..")),
            Map.entry("micrometer", Set.of("io.micrometer.core..")));

    /** Packages in which users are at home. */
    private static final Set<String> ALL_MAY_BE_PUBLIC = Set.of(BASE, BASE + ".replay");

    /** The public types of the other packages; what is not listed here must not be public. */
    private static final Map<String, Set<String>> MAY_BE_PUBLIC = Map.ofEntries(
            Map.entry("operator", Set.of("RateLimitOperators", "LimitSpec", "Outcome")),
            Map.entry("local", Set.of("LocalStore", "SketchStore", "KeyedHash")),
            Map.entry("hotkeys", Set.of("HotKeys", "HotKey")),
            Map.entry("retry", Set.of("RateLimitRetry", "RetryBudget")),
            Map.entry("spi", Set.of("CompareAndSwapEngine", "CompareAndSwapStore", "StoreUnavailableException")),
            Map.entry(
                    "adaptive",
                    Set.of(
                            "Adaptation",
                            "AdaptiveConcurrency",
                            "AdaptiveLimiter",
                            "AdaptivePolicy",
                            "AdaptiveRate",
                            "CallOutcome")),
            Map.entry("fairness", Set.of("FairShare", "FairShareBuilder")),
            Map.entry("micrometer", Set.of("MicrometerRecorder", "RateLimitMeter", "AdaptiveGauges")),
            Map.entry(
                    "redis",
                    Set.of(
                            "RedisStore",
                            "SelfTest",
                            "FailureMode",
                            "RedisCorruptStateException",
                            "RedisErrorReplyException",
                            "RedisReplyException",
                            "RedisUnavailableException")),
            // Internal: the stores in other packages stand behind these.
            Map.entry(
                    "queue",
                    Set.of(
                            "LocalQueues",
                            "QueuedKey",
                            "QueuedRequest",
                            "RetryingQueue",
                            "RetryingKey",
                            "ImmediateKey",
                            "DrainLoop",
                            // For the queues of other packages.
                            "KeyQueue",
                            "KeyQueues",
                            "CallingQueue",
                            "QueueRuntime",
                            "Waiter")),
            // Internal: the steps that stores in other packages run, and replay.
            Map.entry(
                    "algorithm",
                    Set.of(
                            "Algorithm",
                            "Algorithms",
                            "CalendarWindows",
                            "WindowResolution",
                            "Rate",
                            "LongAlgorithm",
                            "PolicyText",
                            "Projection",
                            "Reading",
                            "PolicyTraits",
                            "Spending",
                            "Tick")));

    @TestFactory
    Stream<DynamicTest> packageLooksOnlyAtThoseItMay() {
        return MAY_LOOK_AT.keySet().stream()
                .map(name -> DynamicTest.dynamicTest(
                        name.isEmpty() ? "root" : name,
                        () -> classes()
                                .that()
                                .resideInAPackage(packageOf(name))
                                .and()
                                .doNotHaveFullyQualifiedName(RateLimiterBuilder.class.getName())
                                .should()
                                .onlyDependOnClassesThat()
                                .resideInAnyPackage(allowedFor(name))
                                .allowEmptyShould(true)
                                .check(MAIN)));
    }

    @Test
    void onlyTheBuilderKnowsTheDefaultStore() {
        classes()
                .that()
                .haveFullyQualifiedName(RateLimiterBuilder.class.getName())
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(Stream.concat(Stream.of(packageOf("local")), Stream.of(allowedFor("")))
                        .toArray(String[]::new))
                .check(MAIN);
    }

    @Test
    void everyPackageHasARule() {
        assertThat(MAIN)
                .extracting(JavaClass::getPackageName)
                .map(name -> name.equals(BASE) ? "" : name.substring(BASE.length() + 1))
                .isSubsetOf(MAY_LOOK_AT.keySet());
    }

    @Test
    void onlyTheMicrometerPackageNeedsMicrometer() {
        noClasses()
                .that()
                .resideOutsideOfPackage(packageOf("micrometer"))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.micrometer..")
                .check(MAIN);
    }

    @Test
    void everyPackageIsNullMarkedInItsPackageInfo() {
        JavaPackage base = MAIN.getPackage(BASE);
        List<String> unmarked = Stream.concat(Stream.of(base), base.getSubpackagesInTree().stream())
                .filter(candidate -> !candidate.getClasses().isEmpty())
                .filter(candidate -> !candidate.isAnnotatedWith(NullMarked.class))
                .map(HasName::getName)
                .toList();
        assertThat(unmarked).isEmpty();
    }

    @Test
    void everythingPublicIsMeantToBe() {
        List<String> unlisted = MAIN.stream()
                .filter(type -> type.isTopLevelClass() && type.getModifiers().contains(MainClasses.PUBLIC))
                .filter(type -> !ALL_MAY_BE_PUBLIC.contains(type.getPackageName()))
                .filter(type -> !MAY_BE_PUBLIC
                        .getOrDefault(type.getPackageName().substring(BASE.length() + 1), Set.of())
                        .contains(type.getSimpleName()))
                .map(JavaClass::getName)
                .toList();
        assertThat(unlisted).isEmpty();
    }

    private static String packageOf(String name) {
        return name.isEmpty() ? BASE : BASE + "." + name;
    }

    private static String[] allowedFor(String name) {
        Stream<String> own = Stream.of(packageOf(name));
        Stream<String> ours = MAY_LOOK_AT.get(name).stream().map(ImportsTest::packageOf);
        Stream<String> others = MAY_USE.getOrDefault(name, Set.of()).stream();
        Stream<String> always = Stream.of("java..", "org.jspecify.annotations");
        return Stream.of(own, ours, others, always).flatMap(part -> part).toArray(String[]::new);
    }
}
