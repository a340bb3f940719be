package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Who may tell an ask, where several tasks take from the asks of one call. */
class AskBundleTest {

    private static final int BATCH = 500;
    private static final int ROUNDS = 40;
    private static final int ASKS = 6;

    private static final class Asks extends AskBundle {

        final List<TakeAsk> all = new ArrayList<>();

        Asks() {
            for (int i = 0; i < ASKS; i++) {
                all.add(ask());
                if (i > 0) {
                    all.get(i - 1).followBy(all.get(i));
                }
            }
            fill(all.get(0));
        }

        /** Never run here: only its place among the others matters. */
        @SuppressWarnings("NullAway")
        private static TakeAsk ask() {
            return new TakeAsk(null, "k", null, 1, null);
        }

        @Override
        public int size() {
            return ASKS;
        }
    }

    private static List<Runnable> takeAll(Asks asks) {
        List<Runnable> taken = new ArrayList<>();
        for (Runnable next = asks.take(); next != null; next = asks.take()) {
            taken.add(next);
        }
        return taken;
    }

    @Test
    void asksAreTakenInOrderAndCutOffFromTheOthers() {
        Asks asks = new Asks();
        assertThat(asks.first()).isSameAs(asks.all.get(0));
        assertThat(takeAll(asks)).isEqualTo(asks.all);
        assertThat(asks.first()).isNull();
        assertThat(asks.all).allSatisfy(ask -> assertThat(ask.next()).isNull());
    }

    @Test
    void eachAskIsTakenByOneOfTwo() {
        try (Race race = new Race(BATCH, Seeds.of("bundle"))) {
            for (int round = 0; round < ROUNDS; round++) {
                List<Asks> bundles = new ArrayList<>();
                List<List<Runnable>> left = new ArrayList<>();
                List<List<Runnable>> right = new ArrayList<>();
                for (int i = 0; i < BATCH; i++) {
                    bundles.add(new Asks());
                }
                race.run(i -> left.add(takeAll(bundles.get(i))), i -> right.add(takeAll(bundles.get(i))));
                for (int i = 0; i < BATCH; i++) {
                    List<Runnable> taken = new ArrayList<>(left.get(i));
                    taken.addAll(right.get(i));
                    Set<Runnable> different = Collections.newSetFromMap(new IdentityHashMap<>());
                    different.addAll(taken);
                    assertThat(taken).hasSize(ASKS);
                    assertThat(different).hasSize(ASKS);
                }
            }
        }
    }
}
