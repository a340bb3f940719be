package io.github.reactorratelimit.redis;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a user chose for a store.
 *
 * @param prefix of all its keys
 * @param deadline of a request
 * @param failureMode what is answered while Redis is unavailable
 * @param denialCache whether a denial answers for a while
 * @param leaseTime how long after their debit prepaid permits may be spent; null without them
 * @param hashTag what chooses the hash slot of all keys; empty if each has its own
 * @param onConnection whether requests are answered on the connection's thread
 * @param policyEpoch the version of the policy: the highest one is in effect; 0 without versions
 * @param selfTest whether the server is tested when a limiter is opened
 */
record StoreOptions(
        String prefix,
        Duration deadline,
        FailureMode failureMode,
        boolean denialCache,
        @Nullable Duration leaseTime,
        String hashTag,
        boolean onConnection,
        long policyEpoch,
        boolean selfTest) {

    static final StoreOptions DEFAULT =
            new StoreOptions("ratelimit", Duration.ofMillis(50), FailureMode.closed(), true, null, "", false, 0, true);

    StoreOptions withPrefix(String value) {
        return new StoreOptions(
                value, deadline, failureMode, denialCache, leaseTime, hashTag, onConnection, policyEpoch, selfTest);
    }

    StoreOptions withDeadline(Duration value) {
        return new StoreOptions(
                prefix, value, failureMode, denialCache, leaseTime, hashTag, onConnection, policyEpoch, selfTest);
    }

    StoreOptions withFailureMode(FailureMode value) {
        return new StoreOptions(
                prefix, deadline, value, denialCache, leaseTime, hashTag, onConnection, policyEpoch, selfTest);
    }

    StoreOptions withDenialCache(boolean value) {
        return new StoreOptions(
                prefix, deadline, failureMode, value, leaseTime, hashTag, onConnection, policyEpoch, selfTest);
    }

    StoreOptions withLeaseTime(Duration value) {
        return new StoreOptions(
                prefix, deadline, failureMode, denialCache, value, hashTag, onConnection, policyEpoch, selfTest);
    }

    StoreOptions withHashTag(String value) {
        return new StoreOptions(
                prefix, deadline, failureMode, denialCache, leaseTime, value, onConnection, policyEpoch, selfTest);
    }

    StoreOptions withOnConnection(boolean value) {
        return new StoreOptions(
                prefix, deadline, failureMode, denialCache, leaseTime, hashTag, value, policyEpoch, selfTest);
    }

    StoreOptions withPolicyEpoch(long value) {
        return new StoreOptions(
                prefix, deadline, failureMode, denialCache, leaseTime, hashTag, onConnection, value, selfTest);
    }

    StoreOptions withSelfTest(boolean value) {
        return new StoreOptions(
                prefix, deadline, failureMode, denialCache, leaseTime, hashTag, onConnection, policyEpoch, value);
    }
}
