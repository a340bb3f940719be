package io.github.reactorratelimit.operator;

import java.util.HashMap;
import java.util.Map;

/** The last element of each key that was held. Used by one thread at a time, the one upstream signals on. */
final class KeyOrder<T> {

    private final Map<String, HeldElement<T>> last = new HashMap<>();
    private final int maxHeld;

    KeyOrder(int maxHeld) {
        this.maxHeld = maxHeld;
    }

    /** Whether no element of the key still waits to go ahead. */
    boolean isFree(String key) {
        HeldElement<T> held = last.get(key);
        return held == null || held.wentAhead();
    }

    void join(String key, HeldElement<T> element) {
        element.queueBehind(last.put(key, element));
        // At most maxHeld of them wait, so each sweep removes at least half: constant cost per element.
        if (last.size() > 2L * maxHeld) {
            last.values().removeIf(HeldElement::wentAhead);
        }
    }

    int size() {
        return last.size();
    }
}
