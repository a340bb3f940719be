package io.github.reactorratelimit.webflux.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Imports go one way, no package has a cycle of classes, and nothing blocks or sleeps. */
class ArchitectureTest {

    private static final String BASE = "io.github.reactorratelimit.webflux";

    private static final JavaClasses MAIN = new ClassFileImporter()
            .importUrl(
                    RateLimitEngine.class.getProtectionDomain().getCodeSource().getLocation());

    /** Which packages of the module each package may look at; "" is the one of the filter. */
    private static final Map<String, Set<String>> MAY_LOOK_AT = new TreeMap<>(Map.of(
            "", Set.of("key", "observation"),
            "boot", Set.of("", "gateway", "key", "observation"),
            "client", Set.of(),
            "gateway", Set.of(""),
            "key", Set.of(),
            "observation", Set.of(),
            "websocket", Set.of("key")));

    private static String packageOf(JavaClass type) {
        String name = type.getPackageName();
        return name.startsWith(BASE + ".") ? name.substring(BASE.length() + 1) : name.equals(BASE) ? "" : "outside";
    }

    @Test
    void importsGoOneWay() {
        Map<String, Set<String>> seen = new TreeMap<>();
        for (JavaClass type : MAIN) {
            Set<String> looksAt = seen.computeIfAbsent(packageOf(type), name -> new TreeSet<>());
            type.getDirectDependenciesFromSelf().stream()
                    .map(dependency -> dependency.getTargetClass())
                    .filter(target -> target.getPackageName().startsWith(BASE))
                    .map(ArchitectureTest::packageOf)
                    .filter(target -> !target.equals(packageOf(type)))
                    .forEach(looksAt::add);
        }
        assertThat(seen.keySet()).isEqualTo(MAY_LOOK_AT.keySet());
        seen.forEach((name, targets) ->
                assertThat(MAY_LOOK_AT.get(name)).as("package '" + name + "'").containsAll(targets));
    }

    /** A builder counts with what it builds, and a nested class with its outermost one. */
    @ParameterizedTest
    @ValueSource(strings = {"", "client", "gateway", "key", "websocket"})
    void packageHasNoCycleOfClasses(String name) {
        slices().assignedFrom(new SliceAssignment() {
                    @Override
                    public SliceIdentifier getIdentifierOf(JavaClass type) {
                        return packageOf(type).equals(name)
                                ? SliceIdentifier.of(unitOf(outermost(type)))
                                : SliceIdentifier.ignore();
                    }

                    @Override
                    public String getDescription() {
                        return "classes of '" + name + "'";
                    }
                })
                .should()
                .beFreeOfCycles()
                .check(MAIN);
    }

    /** An interface counts with what its factories make, and an address with its text. */
    private static final Map<String, String> COUNTS_WITH = Map.of(
            "ContentLengthCost", "RequestCost",
            "FixedCost", "RequestCost",
            "ProblemDeniedHandler", "RateLimitDeniedHandler",
            "GatewayRules", "GatewayRateLimiter",
            "IpText", "IpAddress");

    private static String unitOf(JavaClass type) {
        String name = type.getSimpleName().replaceAll("Builder$", "");
        return COUNTS_WITH.getOrDefault(name, name);
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(ArchitectureTest::outermost).orElse(type);
    }

    @Test
    void nothingSleepsParksOrReadsAClockOfItsOwn() {
        noClasses()
                .should()
                .callMethod(Thread.class, "sleep", long.class)
                .orShould()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .accessClassesThat()
                .haveFullyQualifiedName("java.util.concurrent.locks.LockSupport")
                .check(MAIN);
    }

    @Test
    void onlyBootNeedsBootAndOnlyTheGatewayNeedsTheGateway() {
        noClasses()
                .that()
                .resideOutsideOfPackage(BASE + ".boot")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.springframework.boot..")
                .check(MAIN);
        noClasses()
                .that()
                .resideOutsideOfPackages(BASE + ".boot", BASE + ".gateway")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.springframework.cloud..")
                .check(MAIN);
    }
}
