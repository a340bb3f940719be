package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.DrainLoop;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what subscribers ask while answers are brought to them until a run of answers is out: so their next asks travel together
 * instead of the first one alone. Each task that delivers has its own.
 *
 * <p>Whoever asks leaves its ask with the pipe first and looks at the cork then; whoever pulls it takes the pipe out first and pokes
 * it then. So an ask that counts on the cork is seen by the poke.
 */
final class Cork {

    private final Deliveries owner;
    private final AtomicReference<@Nullable DrainLoop> held = new AtomicReference<>();

    Cork(Deliveries owner) {
        this.owner = owner;
    }

    boolean isOf(Deliveries deliveries) {
        return owner == deliveries;
    }

    /** Whether the pipe is poked later; one pipe at a time is. */
    boolean holds(DrainLoop pipe) {
        return held.get() == pipe || held.compareAndSet(null, pipe);
    }

    boolean isEmpty() {
        return held.get() == null;
    }

    void pull() {
        DrainLoop pipe = held.get() == null ? null : held.getAndSet(null);
        if (pipe != null) {
            pipe.signal();
        }
    }
}
