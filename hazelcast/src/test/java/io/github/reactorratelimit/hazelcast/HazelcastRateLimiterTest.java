package io.github.reactorratelimit.hazelcast;

import com.hazelcast.core.HazelcastInstance;
import io.github.reactorratelimit.FullRateLimiterContract;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.testing.FreePorts;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The Hazelcast store keeps the published contract of every store, with BlockHound on. */
class HazelcastRateLimiterTest extends FullRateLimiterContract {

    private static HazelcastInstance member;

    @BeforeAll
    static void startMember() {
        member = Members.start("contract", FreePorts.next());
    }

    @AfterAll
    static void endMember() {
        member.getLifecycleService().terminate();
    }

    @Override
    protected RateLimitStore store() {
        return HazelcastEngine.store(member, "limits").withDeadline(PATIENCE);
    }

    /** The value of a key does not say when it was reset: such a refund gives permits back once more. */
    @Override
    protected boolean refusesRefundsFromBeforeAReset() {
        return false;
    }
}
