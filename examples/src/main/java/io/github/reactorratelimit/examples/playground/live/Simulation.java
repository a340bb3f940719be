package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.Drive;
import io.github.reactorratelimit.examples.playground.HeadStart;
import io.github.reactorratelimit.examples.playground.Simulated;
import io.github.reactorratelimit.examples.playground.live.Frame.What;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One page's traffic, sent to a limiter of every kind. Commands and arrivals run one after the other; what limiters answer comes on any
 * thread and goes into the log.
 */
final class Simulation implements Simulated<Settings> {

    private final HeadStart time;
    private final Drive drive;
    private final List<Lane> lanes;
    private final AtomicReference<@Nullable String> newCode = new AtomicReference<>();
    private Settings settings;
    private long requests;

    Simulation(Settings settings, Scheduler scheduler, RandomGenerator random) {
        this.settings = settings;
        this.time = new HeadStart(scheduler);
        this.drive = new Drive(time, random, this::arrive);
        List<Kind> kinds = List.of(Kind.values());
        this.lanes = IntStream.range(0, kinds.size())
                .mapToObj(index -> new Lane(index, kinds.get(index), settings, time, drive.log()))
                .toList();
        this.newCode.set(CodeSample.of(settings));
    }

    @Override
    public List<Frame> history() {
        return drive.history(time, settings.traffic(), this::frame);
    }

    @Override
    public Flux<Frame> frames() {
        time.end();
        return drive.frames(settings.traffic(), this::frame);
    }

    private Mono<Frame> frame() {
        return Flux.fromIterable(lanes).concatMap(Lane::level).collectList().map(levels -> {
            long atMicros = drive.log().micros();
            return new Frame(atMicros, drive.log().drain(), levels, newCode.getAndSet(null));
        });
    }

    @Override
    public void change(Settings changed) {
        drive.command(() -> {
            settings = changed;
            newCode.set(CodeSample.of(changed));
            lanes.forEach(lane -> lane.change(changed).subscribe());
            drive.send(changed.traffic());
        });
    }

    void click(int count) {
        drive.command(() -> drive.send(count));
    }

    void cancelEveryOther() {
        drive.command(() -> lanes.forEach(Lane::cancelEveryOther));
    }

    void pause(Duration duration) {
        drive.command(() -> lanes.forEach(lane -> lane.pause(duration).subscribe()));
    }

    @Override
    public List<Frame.Totals> totals() {
        return lanes.stream().map(Lane::totals).toList();
    }

    @Override
    public void close() {
        drive.dispose();
        lanes.forEach(Lane::close);
    }

    private void arrive(int count) {
        for (int i = 0; i < count; i++) {
            long request = ++requests;
            drive.log().add(Frame.NO_LANE, What.ARRIVED.code, request);
            lanes.forEach(lane -> lane.arrive(request, settings));
        }
    }
}
