package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.DrainLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The asks for one key, in arrival order. One call is under way at a time; what is asked meanwhile travels in
 * the next, so a key in demand costs Redis few calls, and one that is not costs nobody any time.
 *
 * @param <A> what is asked
 * @param <B> what is answered
 */
final class AskPipe<A, B> extends DrainLoop {

    /** What a pipe leads to. */
    interface Outlet<A, B> {

        /** Asks that may share a call. */
        int maxAsks();

        /** As how many it counts. */
        default int weight(A ask) {
            return 1;
        }

        /** One answer for each ask, in their order, or one error for all. */
        Mono<List<B>> call(String key, List<A> asks);

        /** Whether what the connection's own thread writes now overtakes nothing that was asked before. */
        default boolean mayBeWrittenOnConnection() {
            return true;
        }

        /** Runs on another thread what must not be written on the connection's; false if none takes it any more. */
        default boolean runElsewhere(Runnable task) {
            return false;
        }

        /** Whether an ask may share a call with the one before it. */
        default boolean mayTravelWith(A before, A next) {
            return true;
        }
    }

    private record Pending<A, B>(A ask, MonoOnce.Reply<B> reply) {}

    private record Outcome<B>(List<B> answers, @Nullable Throwable error) {}

    private final AskPipes<A, B> pipes;
    private final Outlet<A, B> outlet;
    private final String key;
    private final Queue<Pending<A, B>> asked = new ConcurrentLinkedQueue<>();

    /** Asks that were added and are not sent, at least. */
    private final AtomicInteger unsent = new AtomicInteger();

    private final Runnable poking = this::signal;

    /** The thread that brought what came last: the connection's. */
    private volatile @Nullable Thread cameOn;

    /** What has come for the call under way. */
    private volatile @Nullable Outcome<B> outcome;

    /** The owner's, as is the field below. */
    private final Deque<Pending<A, B>> next = new ArrayDeque<>();

    private List<Pending<A, B>> underWay = List.of();

    AskPipe(AskPipes<A, B> pipes, Outlet<A, B> outlet, String key) {
        this.pipes = pipes;
        this.outlet = outlet;
        this.key = key;
    }

    /** False if the pipe went out of use without seeing this ask: its last owner may have been quicker than the poke. */
    boolean add(A ask, MonoOnce.Reply<B> reply) {
        Pending<A, B> pending = new Pending<>(ask, reply);
        unsent.incrementAndGet();
        asked.offer(pending);
        return signal() || !asked.remove(pending);
    }

    /** Whether something was added and is not sent. */
    boolean hasUnsent() {
        return unsent.get() > 0;
    }

    @Override
    protected void drain() {
        for (Pending<A, B> pending = asked.poll(); pending != null; pending = asked.poll()) {
            next.add(pending);
        }
        Outcome<B> came = outcome;
        if (came != null) {
            outcome = null;
            List<Pending<A, B>> answered = underWay;
            underWay = List.of();
            settle(answered, came);
            if (came.error() instanceof RedisUnavailableException) {
                giveUpNext(came);
            }
        }
        if (underWay.isEmpty() && !next.isEmpty()) {
            // Looked at when the ask is here: whoever asked it began before what it asked otherwise.
            boolean overtakes = Thread.currentThread() == cameOn && !outlet.mayBeWrittenOnConnection();
            if (!overtakes || !outlet.runElsewhere(poking)) {
                send();
            }
        }
    }

    @Override
    protected boolean isDone() {
        return next.isEmpty() && underWay.isEmpty() && asked.isEmpty();
    }

    @Override
    protected void retired() {
        pipes.remove(key, this);
    }

    private void send() {
        List<Pending<A, B>> batch = new ArrayList<>();
        List<A> asks = new ArrayList<>();
        int room = outlet.maxAsks();
        while (!next.isEmpty()
                && (asks.isEmpty() || mayFollow(asks, next.getFirst().ask(), room))) {
            Pending<A, B> pending = next.removeFirst();
            batch.add(pending);
            asks.add(pending.ask());
            room -= outlet.weight(pending.ask());
        }
        underWay = batch;
        Mono.defer(() -> outlet.call(key, asks))
                .subscribe(answers -> came(new Outcome<>(answers, null)), e -> came(new Outcome<>(List.of(), e)));
        unsent.addAndGet(-batch.size());
    }

    private boolean mayFollow(List<A> asks, A ask, int room) {
        return outlet.weight(ask) <= room && outlet.mayTravelWith(asks.get(asks.size() - 1), ask);
    }

    /** What was not sent yet need not wait for its own deadline to learn that Redis is away. */
    private void giveUpNext(Outcome<B> came) {
        List<Pending<A, B>> given = List.copyOf(next);
        next.clear();
        unsent.addAndGet(-given.size());
        settle(given, came);
    }

    private void came(Outcome<B> what) {
        cameOn = Thread.currentThread();
        outcome = what;
        signal();
    }

    private static <A, B> void settle(List<Pending<A, B>> answered, Outcome<B> came) {
        for (int i = 0; i < answered.size(); i++) {
            try {
                settle(answered.get(i).reply(), came, i);
            } catch (Throwable thrown) {
                // No reason to keep the answers of the others.
                Strays.tell(thrown);
            }
        }
    }

    private static <B> void settle(MonoOnce.Reply<B> reply, Outcome<B> came, int place) {
        if (came.error() == null) {
            reply.succeed(came.answers().get(place));
        } else {
            reply.fail(came.error());
        }
    }
}
