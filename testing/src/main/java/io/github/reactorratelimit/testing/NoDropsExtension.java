package io.github.reactorratelimit.testing;

import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails every test during which a signal was dropped, unless it says {@link ExpectsDrops}. Registered
 * for the whole module by {@code META-INF/services}.
 */
public final class NoDropsExtension
        implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {

    @Override
    public void beforeAll(ExtensionContext context) {
        Drops.listen();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        Drops.listen();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        check(context);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        check(context);
    }

    private static void check(ExtensionContext context) {
        List<Object> dropped = Drops.take();
        List<Throwable> places = Drops.takePlaces();
        boolean expected = context.getElement()
                        .filter(element -> element.isAnnotationPresent(ExpectsDrops.class))
                        .isPresent()
                || context.getTestClass()
                        .filter(type -> type.isAnnotationPresent(ExpectsDrops.class))
                        .isPresent();
        if (!expected && !dropped.isEmpty()) {
            AssertionError failure = new AssertionError("dropped signals: " + dropped);
            places.forEach(failure::addSuppressed);
            throw failure;
        }
    }
}
