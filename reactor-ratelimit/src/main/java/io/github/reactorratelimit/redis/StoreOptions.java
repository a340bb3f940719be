package io.github.reactorratelimit.redis;

import java.time.Duration;

/**
 * What a user chose for a store.
 *
 * @param prefix of all its keys
 * @param deadline of a call
 * @param failureMode what is answered while Redis is unavailable
 * @param coalescing whether asks for one key share calls
 * @param hashTag what chooses the slot of all keys; empty if each has its own
 */
record StoreOptions(String prefix, Duration deadline, FailureMode failureMode, boolean coalescing, String hashTag) {

    static final StoreOptions DEFAULT =
            new StoreOptions("ratelimit", RedisStore.DEFAULT_DEADLINE, FailureMode.closed(), true, "");

    Builder toBuilder() {
        return new Builder(this);
    }

    /** One setter for each option. */
    static final class Builder {

        private String prefix;
        private Duration deadline;
        private FailureMode failureMode;
        private boolean coalescing;
        private String hashTag;

        private Builder(StoreOptions options) {
            this.prefix = options.prefix;
            this.deadline = options.deadline;
            this.failureMode = options.failureMode;
            this.coalescing = options.coalescing;
            this.hashTag = options.hashTag;
        }

        Builder prefix(String value) {
            prefix = value;
            return this;
        }

        Builder deadline(Duration value) {
            deadline = value;
            return this;
        }

        Builder failureMode(FailureMode value) {
            failureMode = value;
            return this;
        }

        Builder coalescing(boolean value) {
            coalescing = value;
            return this;
        }

        Builder hashTag(String value) {
            hashTag = value;
            return this;
        }

        StoreOptions build() {
            return new StoreOptions(prefix, deadline, failureMode, coalescing, hashTag);
        }
    }
}
