package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiterContract;

/** The local store keeps the contract of every store. */
class LocalRateLimiterTest extends RateLimiterContract {

    @Override
    protected RateLimitStore store() {
        return LocalStore.create();
    }
}
