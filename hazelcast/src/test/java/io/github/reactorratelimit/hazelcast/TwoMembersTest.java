package io.github.reactorratelimit.hazelcast;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.FreePorts;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Two members in two JVMs. */
class TwoMembersTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int ROUNDS = FULL ? 5 : 1;
    private static final int LIMIT = FULL ? 2_000 : 200;
    private static final List<String> KEYS = List.of("alice", "bob", "carol", "dave", "erin");

    @Test
    void clientThatAlternatesBetweenMembersGetsExactlyTheSharedLimitAndNoMoreWhenOneIsKilled() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            List<MemberProcess> members = MemberProcess.startTwo("two-" + round, FreePorts.next(), LIMIT);
            try {
                alternate(members);
                killUnderLoad(members);
            } finally {
                members.forEach(MemberProcess::close);
            }
        }
    }

    private static void alternate(List<MemberProcess> members) throws InterruptedException {
        int allowed = 0;
        for (int i = 0; i < LIMIT + 20; i++) {
            MemberProcess member = members.get(i % 2);
            member.request("alternating");
            allowed += member.answer().equals("allowed") ? 1 : 0;
        }
        assertThat(allowed).isEqualTo(LIMIT);
    }

    /** Each key has its own limit; some keys live on the member that dies, some on the other. */
    private static void killUnderLoad(List<MemberProcess> members) throws InterruptedException {
        MemberProcess survivor = members.get(0);
        MemberProcess victim = members.get(1);
        int each = LIMIT * 2 / 3;
        for (int i = 0; i < each; i++) {
            for (String key : KEYS) {
                survivor.request(key);
                victim.request(key);
            }
        }
        int beforeDeath = each * KEYS.size() / 4;
        Await.until("the load is running", () -> victim.answers().size() >= beforeDeath);
        victim.kill();
        List<String> answers = new ArrayList<>();
        for (int i = 0; i < each * KEYS.size(); i++) {
            answers.add(survivor.answer());
        }
        int late = LIMIT * KEYS.size();
        for (int i = 0; i < LIMIT; i++) {
            KEYS.forEach(survivor::request);
        }
        for (int i = 0; i < late; i++) {
            answers.add(survivor.answer());
        }
        int ofVictim = Collections.frequency(List.copyOf(victim.answers()), "allowed");
        int ofSurvivor = Collections.frequency(answers, "allowed");
        int most = LIMIT * KEYS.size();
        assertThat(ofSurvivor + ofVictim).isLessThanOrEqualTo(most);
        System.out.printf(
                "killed under load: %d of %d allowed, %d by the member that died, %d requests failed%n",
                ofSurvivor + ofVictim, most, ofVictim, Collections.frequency(answers, "failed"));
        survivor.request("after");
        assertThat(survivor.answer()).isEqualTo("allowed");
    }
}
