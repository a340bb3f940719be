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
}
