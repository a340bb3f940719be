package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.examples.playground.Drive;
import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.HeadStart;
import io.github.reactorratelimit.examples.playground.Simulated;
import io.github.reactorratelimit.examples.playground.fragile.Frame.Side;
import io.github.reactorratelimit.examples.playground.fragile.Frame.What;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One page's calls, each made twice: to a server with nothing before it, and to its copy with a limiter. Commands and arrivals run one after the
 * other; answers come on any thread and go into the log.
 */
final class Simulation implements Simulated<Settings> {

    private final HeadStart time;
    private final Drive drive;
    private final ShapedClient shaped;
    private final Copy without;
    private final Copy with;
    private final AtomicReference<@Nullable String> newCode = new AtomicReference<>();
    private Settings settings;
    private long calls;

    Simulation(Settings settings, Scheduler scheduler, RandomGenerator random) {
        this.settings = settings;
        this.time = new HeadStart(scheduler);
        this.drive = new Drive(time, random, this::arrive);
        this.shaped = new ShapedClient(settings.shaping(), time);
        this.without = new Copy(Side.WITHOUT, Client::plain, settings, time, drive.log());
        this.with = new Copy(Side.WITH, shaped, settings, time, drive.log());
        this.newCode.set(CodeSample.of(settings));
    }

    @Override
    public List<Frame> history() {
        return drive.history(time, settings.traffic(), () -> Mono.fromSupplier(this::frame));
    }

    @Override
    public Flux<Frame> frames() {
        time.end();
        return drive.frames(settings.traffic(), () -> Mono.fromSupplier(this::frame));
    }

    private Frame frame() {
        long atMicros = drive.log().micros();
        return new Frame(
                atMicros,
                drive.log().drain(),
                with.server().capacityNow(),
                with.server().hasABadMoment(),
                shaped.foundLimit(),
                shaped.waiting(),
                newCode.getAndSet(null));
    }

    @Override
    public void change(Settings changed) {
        drive.command(() -> {
            settings = changed;
            newCode.set(CodeSample.of(changed));
            without.server().change(changed);
            with.server().change(changed);
            shaped.change(changed.shaping());
            drive.send(changed.traffic());
        });
    }

    void click(int count) {
        drive.command(() -> drive.send(count));
    }

    void haveABadMoment(Duration duration) {
        drive.command(() -> {
            without.server().haveABadMoment(duration);
            with.server().haveABadMoment(duration);
        });
    }

    @Override
    public List<Frame.Totals> totals() {
        return List.of(
                new Frame.Totals(Fields.textOf(Side.WITHOUT), without.server().counted(), 0),
                new Frame.Totals(Fields.textOf(Side.WITH), with.server().counted(), shaped.denied()));
    }

    @Override
    public void close() {
        drive.dispose();
        without.close();
        with.close();
        shaped.close();
    }

    private void arrive(int count) {
        for (int i = 0; i < count; i++) {
            long call = ++calls;
            drive.log().add(Frame.NO_SIDE, What.WANTED.code, call);
            without.call(call, settings);
            with.call(call, settings);
        }
    }
}
