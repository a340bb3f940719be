package io.github.reactorratelimit.local;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;

/** State in this process. */
public final class LocalStore implements RateLimitStore {

    private LocalStore() {}

    public static LocalStore create() {
        return new LocalStore();
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        throw new UnsupportedOperationException();
    }
}
