package io.github.reactorratelimit.examples.playground;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;

/**
 * What moves a simulation: the traffic, the commands of its page, and the beat of its frames. Commands and arrivals run on one worker, one
 * after the other, so what they share needs no guard.
 */
public final class Drive {

    private static final Duration FRAME = Duration.ofMillis(100);
    private static final Duration HISTORY = Duration.ofSeconds(10);
    /** Who is behind by more, because the machine stood still, does not make up for it with a flood. */
    private static final long MOST_CAUGHT_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Scheduler scheduler;
    private final Scheduler.Worker worker;
    private final RandomGenerator random;
    private final IntConsumer arrive;
    private final EventLog log;
    private final Sinks.Empty<Void> abandoned = Sinks.empty();
    private final Disposable.Swap nextArrival = Disposables.swap();
    private @Nullable Traffic traffic;
    private long nextArrivalNanos;

    /** Nothing moves yet; {@code arrive} is told on the worker how many requests have come at once. */
    public Drive(Scheduler scheduler, RandomGenerator random, IntConsumer arrive) {
        this.scheduler = scheduler;
        this.random = random;
        this.arrive = arrive;
        this.worker = scheduler.createWorker();
        this.log = new EventLog(scheduler);
    }

    /** What happened, for the next frame. */
    public EventLog log() {
        return log;
    }

    /** Runs it on the worker, after what was commanded before. */
    public void command(Runnable command) {
        worker.schedule(command);
    }

    /** Begins with the traffic, runs its first ten seconds at once, and gives their frames; {@code time} is that of the drive. */
    public <F> List<F> history(HeadStart time, Traffic first, Supplier<Mono<F>> frame) {
        command(() -> send(first));
        return time.history(HISTORY, FRAME, frame);
    }

    /** Begins with the traffic, unless it has begun; ends by itself only if nobody takes the frames. */
    public <F> Flux<F> frames(Traffic first, Supplier<Mono<F>> frame) {
        command(() -> send(first));
        return Flux.interval(FRAME, scheduler)
                .onBackpressureLatest()
                .concatMap(tick -> frame.get(), 1)
                .takeUntilOther(abandoned.asMono());
    }

    /** From now on this comes; what comes already goes on undisturbed if it is the same. Only from a command. */
    public void send(Traffic wanted) {
        if (wanted.equals(traffic)) {
            return;
        }
        traffic = wanted;
        nextArrival.update(Disposables.disposed());
        nextArrivalNanos = log.nanos();
        if (wanted.flows()) {
            sendWhatIsDue(wanted);
        }
    }

    /** Requests beside the traffic. Only from a command. */
    public void send(int count) {
        if (log.isFull()) {
            abandoned.tryEmitEmpty();
        } else {
            arrive.accept(count);
        }
    }

    /** Ends the traffic; commands are refused from now on. */
    public void dispose() {
        worker.dispose();
    }

    private void sendWhatIsDue(Traffic wanted) {
        long now = log.nanos();
        nextArrivalNanos = Math.max(nextArrivalNanos, now - MOST_CAUGHT_UP_NANOS);
        while (nextArrivalNanos <= now) {
            send(wanted.atOnce());
            nextArrivalNanos += wanted.gapNanos(random);
        }
        sendAgainAfter(nextArrivalNanos - now, wanted);
    }

    private void sendAgainAfter(long nanos, Traffic wanted) {
        try {
            nextArrival.update(worker.schedule(() -> sendWhatIsDue(wanted), nanos, TimeUnit.NANOSECONDS));
        } catch (RejectedExecutionException closed) {
            // The page has gone meanwhile, and takes its traffic with it.
        }
    }
}
