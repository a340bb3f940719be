package io.github.reactorratelimit.local;

import io.github.reactorratelimit.FullRateLimiterContract;
import io.github.reactorratelimit.RateLimitStore;

/** The local store keeps the contract of every store. */
class LocalRateLimiterTest extends FullRateLimiterContract {

    @Override
    protected RateLimitStore store() {
        return LocalStore.create();
    }
}
