package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.live.Frame.What;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;

/**
 * One page's traffic, sent to a limiter of every kind. Commands and arrivals run on one worker, one after the other, so
 * what they share needs no guard; what limiters answer comes on any thread and goes into the log.
 */
final class Simulation {

    private static final Duration FRAME = Duration.ofMillis(100);
    /** Who is behind by more, because the machine stood still, does not make up for it with a flood. */
    private static final long MOST_CAUGHT_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Scheduler scheduler;
    private final Scheduler.Worker worker;
    private final RandomGenerator random;
    private final EventLog log;
    private final List<Lane> lanes;
    private final Sinks.Empty<Void> abandoned = Sinks.empty();
    private final AtomicReference<@Nullable String> newCode = new AtomicReference<>();
    private final Disposable.Swap nextArrival = Disposables.swap();
    private Settings settings;
    private long nextArrivalNanos;
    private long requests;

    Simulation(Settings settings, Scheduler scheduler, RandomGenerator random) {
        this.settings = settings;
        this.scheduler = scheduler;
        this.random = random;
        this.worker = scheduler.createWorker();
        this.log = new EventLog(scheduler);
        List<Kind> kinds = List.of(Kind.values());
        this.lanes = IntStream.range(0, kinds.size())
                .mapToObj(index -> new Lane(index, kinds.get(index), settings, scheduler, log))
                .toList();
        this.newCode.set(CodeSample.of(settings));
    }

    /** Begins with the traffic; ends by itself only if nobody takes the frames. */
    Flux<Frame> frames() {
        command(this::startTraffic);
        return Flux.interval(FRAME, scheduler)
                .onBackpressureLatest()
                .concatMap(tick -> frame(), 1)
                .takeUntilOther(abandoned.asMono());
    }

    private Mono<Frame> frame() {
        return Flux.fromIterable(lanes).concatMap(Lane::level).collectList().map(levels -> {
            long atMicros = log.micros();
            return new Frame(atMicros, log.drain(), levels, newCode.getAndSet(null));
        });
    }

    void change(Settings changed) {
        command(() -> {
            boolean otherTraffic = !changed.traffic().equals(settings.traffic());
            settings = changed;
            newCode.set(CodeSample.of(changed));
            lanes.forEach(lane -> lane.change(changed).subscribe());
            if (otherTraffic) {
                startTraffic();
            }
        });
    }

    void click(int count) {
        command(() -> arrive(count));
    }

    void cancelEveryOther() {
        command(() -> lanes.forEach(Lane::cancelEveryOther));
    }

    void pause(Duration duration) {
        command(() -> lanes.forEach(lane -> lane.pause(duration).subscribe()));
    }

    List<Frame.Totals> totals() {
        return lanes.stream().map(Lane::totals).toList();
    }

    void close() {
        worker.dispose();
        lanes.forEach(Lane::close);
    }

    private void command(Runnable command) {
        worker.schedule(command);
    }

    private void startTraffic() {
        nextArrival.update(Disposables.disposed());
        nextArrivalNanos = log.nanos();
        if (settings.traffic().flows()) {
            sendWhatIsDue();
        }
    }

    private void sendWhatIsDue() {
        long now = log.nanos();
        nextArrivalNanos = Math.max(nextArrivalNanos, now - MOST_CAUGHT_UP_NANOS);
        while (nextArrivalNanos <= now) {
            arrive(settings.traffic().atOnce());
            nextArrivalNanos += settings.traffic().gapNanos(random);
        }
        sendAgainAfter(nextArrivalNanos - now);
    }

    private void sendAgainAfter(long nanos) {
        try {
            nextArrival.update(worker.schedule(this::sendWhatIsDue, nanos, TimeUnit.NANOSECONDS));
        } catch (RejectedExecutionException closed) {
            // The page has gone meanwhile, and takes its traffic with it.
        }
    }

    private void arrive(int count) {
        if (log.isFull()) {
            abandoned.tryEmitEmpty();
            return;
        }
        for (int i = 0; i < count; i++) {
            long request = ++requests;
            log.add(Frame.NO_LANE, What.ARRIVED, request);
            lanes.forEach(lane -> lane.arrive(request, settings));
        }
    }
}
