package io.github.reactorratelimit.hazelcast;

import com.hazelcast.core.HazelcastInstance;
import io.github.reactorratelimit.spi.CompareAndSwapEngine;
import io.github.reactorratelimit.spi.CompareAndSwapEngineContract;
import io.github.reactorratelimit.testing.FreePorts;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The map keeps the contract of every engine. */
class HazelcastEngineTest extends CompareAndSwapEngineContract {

    private static HazelcastInstance member;

    @BeforeAll
    static void startMember() {
        member = Members.start("engine", FreePorts.next());
    }

    @AfterAll
    static void endMember() {
        member.getLifecycleService().terminate();
    }

    @Override
    protected CompareAndSwapEngine engine() {
        return new HazelcastEngine(member, "limits");
    }
}
