package io.github.reactorratelimit.architecture;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * No two classes of a package need each other, directly or through others. Nested classes count with their outermost one, and
 * a builder with what it builds.
 */
class ClassCyclesTest {

    /** Still open: the root package and redis. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "adaptive",
                "algorithm",
                "fairness",
                "hotkeys",
                "local",
                "micrometer",
                "operator",
                "queue",
                "replay",
                "retry",
                "spi"
            })
    void packageHasNoCycleOfClasses(String name) {
        slices().assignedFrom(outermostClassesOf(MainClasses.BASE + "." + name))
                .should()
                .beFreeOfCycles()
                .check(MainClasses.ALL);
    }

    private static SliceAssignment outermostClassesOf(String packageName) {
        return new SliceAssignment() {
            @Override
            public SliceIdentifier getIdentifierOf(JavaClass type) {
                return type.getPackageName().equals(packageName)
                        ? SliceIdentifier.of(outermost(type).getName().replaceFirst("Builder$", ""))
                        : SliceIdentifier.ignore();
            }

            @Override
            public String getDescription() {
                return "classes of " + packageName;
            }
        };
    }

    private static JavaClass outermost(JavaClass type) {
        return type.getEnclosingClass().map(ClassCyclesTest::outermost).orElse(type);
    }
}
