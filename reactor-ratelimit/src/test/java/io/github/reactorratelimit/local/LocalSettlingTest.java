package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.SettlingContract;

/** The local store settles as every store. */
class LocalSettlingTest extends SettlingContract {

    @Override
    protected RateLimitStore store() {
        return LocalStore.create();
    }
}
