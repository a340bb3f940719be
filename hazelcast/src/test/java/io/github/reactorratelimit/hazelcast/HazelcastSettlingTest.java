package io.github.reactorratelimit.hazelcast;

import com.hazelcast.core.HazelcastInstance;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.SettlingContract;
import io.github.reactorratelimit.testing.FreePorts;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The Hazelcast store settles as every store, also what two limiters spend together. */
class HazelcastSettlingTest extends SettlingContract {

    private static HazelcastInstance member;

    @BeforeAll
    static void startMember() {
        member = Members.start("settling", FreePorts.next());
    }

    @AfterAll
    static void endMember() {
        member.getLifecycleService().terminate();
    }

    @Override
    protected RateLimitStore store() {
        return HazelcastEngine.store(member, "limits").withDeadline(PATIENCE);
    }

    @Override
    protected int instances() {
        return 2;
    }
}
