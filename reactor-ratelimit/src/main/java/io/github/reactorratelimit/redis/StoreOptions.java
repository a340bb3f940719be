package io.github.reactorratelimit.redis;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a user chose for a store.
 *
 * @param prefix of all its keys
 * @param deadline of a call
 * @param failureMode what is answered while Redis is unavailable
 * @param denialCache whether a denial answers for a while
 * @param leaseTime how long after their debit leased permits may be spent; null without leases
 * @param hashTag what chooses the slot of all keys; empty if each has its own
 * @param onConnection whether takes are answered on the connection's thread
 * @param policyEpoch of two processes the one with the higher epoch says which policy rules; 0 without epochs
 */
record StoreOptions(
        String prefix,
        Duration deadline,
        FailureMode failureMode,
        boolean denialCache,
        @Nullable Duration leaseTime,
        String hashTag,
        boolean onConnection,
        long policyEpoch) {

    static final StoreOptions DEFAULT =
            new StoreOptions("ratelimit", Duration.ofMillis(50), FailureMode.closed(), true, null, "", false, 0);

    Builder toBuilder() {
        return new Builder(this);
    }

    /** One setter for each option. */
    static final class Builder {

        private String prefix;
        private Duration deadline;
        private FailureMode failureMode;
        private boolean denialCache;
        private @Nullable Duration leaseTime;
        private String hashTag;
        private boolean onConnection;
        private long policyEpoch;

        private Builder(StoreOptions options) {
            this.prefix = options.prefix;
            this.deadline = options.deadline;
            this.failureMode = options.failureMode;
            this.denialCache = options.denialCache;
            this.leaseTime = options.leaseTime;
            this.hashTag = options.hashTag;
            this.onConnection = options.onConnection;
            this.policyEpoch = options.policyEpoch;
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

        Builder denialCache(boolean value) {
            denialCache = value;
            return this;
        }

        Builder leaseTime(Duration value) {
            leaseTime = value;
            return this;
        }

        Builder hashTag(String value) {
            hashTag = value;
            return this;
        }

        Builder onConnection(boolean value) {
            onConnection = value;
            return this;
        }

        Builder policyEpoch(long value) {
            policyEpoch = value;
            return this;
        }

        StoreOptions build() {
            return new StoreOptions(
                    prefix, deadline, failureMode, denialCache, leaseTime, hashTag, onConnection, policyEpoch);
        }
    }
}
