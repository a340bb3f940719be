package io.github.reactorratelimit.documentation.figures;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Plays what a diagram shows, with the real operators in virtual time, and notes what happens on each line. */
final class Scene {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Line> above = new ArrayList<>();
    private final List<Line> below = new ArrayList<>();
    private final String operator;
    private final long lengthMillis;

    Scene(String operator, long lengthMillis) {
        this.operator = operator;
        this.lengthMillis = lengthMillis;
    }

    String operator() {
        return operator;
    }

    long lengthMillis() {
        return lengthMillis;
    }

    List<Line> above() {
        return above;
    }

    List<Line> below() {
        return below;
    }

    RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    Line above(String name) {
        return added(above, name);
    }

    Line below(String name) {
        return added(below, name);
    }

    private Line added(List<Line> lines, String name) {
        Line line = new Line(name, () -> time.now(MILLISECONDS));
        lines.add(line);
        return line;
    }

    void at(long millis, Runnable action) {
        time.schedule(action, millis, MILLISECONDS);
    }

    /**
     * A line above, and a Flux of what is on it.
     *
     * @param marks such as {@code "a1@0 b1@20 |@50"}: elements with their times, and the end
     */
    Flux<String> source(String name, String marks) {
        Line line = above(name);
        Sinks.Many<String> sink = Sinks.many().unicast().onBackpressureBuffer();
        for (String mark : marks.split(" ")) {
            String label = mark.substring(0, mark.indexOf('@'));
            at(Long.parseLong(mark.substring(mark.indexOf('@') + 1)), () -> {
                if (label.equals("|")) {
                    line.complete();
                    sink.tryEmitComplete();
                } else {
                    line.element(label);
                    sink.tryEmitNext(label);
                }
            });
        }
        return sink.asFlux();
    }

    /** A line below, with what comes out. */
    Line show(String name, Publisher<String> published) {
        Line line = below(name);
        Flux.from(published).subscribe(line::element, line::error, line::complete);
        return line;
    }

    Scene play() {
        time.advanceTimeBy(Duration.ofMillis(lengthMillis));
        time.dispose();
        return this;
    }
}
