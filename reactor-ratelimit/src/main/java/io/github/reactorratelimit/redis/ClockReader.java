package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import java.util.List;
import java.util.NavigableMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import reactor.core.publisher.Mono;

/**
 * Reads the server's clock each time the registry has been read, which is when a limiter is built and every 30 seconds while it
 * is used, and tells how far it is ahead of this machine's. No decision waits for it; one that fails is left out. On a
 * Cluster it is the clock of whichever node answers.
 */
final class ClockReader implements PolicyEpochs.Registry {

    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final PolicyEpochs.Registry registry;
    private final LimiterSettings settings;
    private final Supplier<Mono<List<String>>> time;

    private ClockReader(PolicyEpochs.Registry registry, LimiterSettings settings, Supplier<Mono<List<String>>> time) {
        this.registry = registry;
        this.settings = settings;
        this.time = time;
    }

    /** The registry itself where nobody wants to know. */
    static PolicyEpochs.Registry beside(
            PolicyEpochs.Registry registry, LimiterSettings settings, Supplier<Mono<List<String>>> time) {
        return settings.recorder() == RateLimitRecorder.NOOP ? registry : new ClockReader(registry, settings, time);
    }

    @Override
    public Mono<NavigableMap<Long, String>> register(PolicyEpochs.Rule rule) {
        return registry.register(rule).doOnNext(answered -> read());
    }

    @Override
    public Mono<NavigableMap<Long, String>> change(PolicyEpochs.Rule rule, RateLimitPolicy to) {
        return registry.change(rule, to);
    }

    private void read() {
        long sentNanos = settings.scheduler().now(TimeUnit.NANOSECONDS);
        time.get().subscribe(answer -> compare(answer, sentNanos), unread -> {});
    }

    /**
     * The server read its clock at some time between the sending and now, and this machine's clock shows whole milliseconds: the
     * middle of both is off by no more than half of both.
     */
    private void compare(List<String> answer, long sentNanos) {
        long wallNanos = TimeUnit.MILLISECONDS.toNanos(settings.scheduler().now(TimeUnit.MILLISECONDS));
        long tookNanos = settings.scheduler().now(TimeUnit.NANOSECONDS) - sentNanos;
        long serverNanos = TimeUnit.SECONDS.toNanos(Long.parseLong(answer.get(0)))
                + TimeUnit.MICROSECONDS.toNanos(Long.parseLong(answer.get(1)));
        long errorNanos = (tookNanos + MILLI_NANOS) / 2 + 1;
        settings.recorder().clockRead(serverNanos - (wallNanos + MILLI_NANOS / 2 - tookNanos / 2), errorNanos);
    }
}
