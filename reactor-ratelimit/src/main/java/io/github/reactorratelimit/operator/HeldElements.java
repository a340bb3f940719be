package io.github.reactorratelimit.operator;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Every element that is held, so that a cancel or an error reaches all of them. One that is added after
 * that is disposed at once.
 */
final class HeldElements<T> {

    private final Set<HeldElement<T>> elements = ConcurrentHashMap.newKeySet();
    private volatile boolean disposed;

    /** Whether it is held now; if not, it has been disposed. */
    boolean add(HeldElement<T> element) {
        elements.add(element);
        // Written before the elements are walked: either the walk finds this one, or it is seen here.
        if (disposed) {
            elements.remove(element);
            element.dispose();
            return false;
        }
        return true;
    }

    void remove(HeldElement<T> element) {
        elements.remove(element);
    }

    void dispose() {
        disposed = true;
        elements.forEach(HeldElement::dispose);
        elements.clear();
    }
}
