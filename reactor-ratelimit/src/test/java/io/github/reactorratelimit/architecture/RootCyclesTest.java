package io.github.reactorratelimit.architecture;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.PolicyVisitor;
import io.github.reactorratelimit.RateLimitPolicy;
import org.junit.jupiter.api.Test;

/**
 * No two classes of the root package need each other, but for two cases. The policies count as one: a sealed interface names
 * its implementations. {@code RateLimiter} has static methods that lead to what implements it.
 */
class RootCyclesTest {

    @Test
    void rootPackageHasNoCycleOfClasses() {
        slices().assignedFrom(new RootClasses())
                .should()
                .beFreeOfCycles()
                .ignoreDependency(simpleName("RateLimiter"), simpleName("RateLimiterBuilder"))
                .ignoreDependency(simpleName("RateLimiter"), simpleName("MonoAcquireAll"))
                .check(MainClasses.ALL);
    }

    /** Nested classes count with their outermost one. */
    private static final class RootClasses implements SliceAssignment {

        @Override
        public SliceIdentifier getIdentifierOf(JavaClass type) {
            if (!type.getPackageName().equals(MainClasses.BASE)) {
                return SliceIdentifier.ignore();
            }
            JavaClass outermost = type;
            while (outermost.getEnclosingClass().isPresent()) {
                outermost = outermost.getEnclosingClass().get();
            }
            return SliceIdentifier.of(isPolicy(outermost) ? "policies" : outermost.getName());
        }

        private static boolean isPolicy(JavaClass type) {
            return type.isAssignableTo(RateLimitPolicy.class)
                    || type.isEquivalentTo(PolicyVisitor.class)
                    || type.isEquivalentTo(Policies.class);
        }

        @Override
        public String getDescription() {
            return "classes of the root package";
        }
    }
}
