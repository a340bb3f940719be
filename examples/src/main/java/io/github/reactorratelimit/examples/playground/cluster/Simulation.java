package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.examples.playground.Simulated;
import io.github.reactorratelimit.redis.RedisStore;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** One page's instances, and the Redis through which they share a limit. Nothing runs before that is asked for. */
final class Simulation implements Simulated<Settings> {

    private static final Duration FROZEN = Duration.ofSeconds(2);
    /** A page that takes no frame for so long is given up, and its Redis with it. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final Scheduler scheduler;
    private final List<Instance> instances;
    private final PageRedis redis = new PageRedis();
    private final AtomicReference<@Nullable String> newCode = new AtomicReference<>();
    private volatile Settings settings;

    /** What a person may do to Redis. */
    enum Deed {
        START,
        KILL,
        FREEZE
    }

    Simulation(Settings settings, Scheduler scheduler) {
        this.settings = settings;
        this.scheduler = scheduler;
        this.instances = IntStream.range(0, Settings.INSTANCES)
                .mapToObj(index -> new Instance(index, settings, scheduler))
                .toList();
        this.newCode.set(CodeSample.of(settings));
    }

    @Override
    public Flux<Frame> frames() {
        return instances
                .get(0)
                .drive()
                .frames(Settings.NO_TRAFFIC, () -> Mono.fromSupplier(this::frame))
                .timeout(PATIENCE, Flux.empty(), scheduler);
    }

    private Frame frame() {
        long atMicros = instances.get(0).drive().log().micros();
        return new Frame(
                atMicros,
                settings.policy().refill(),
                redis.state(),
                instances.stream().map(Instance::course).toList(),
                newCode.getAndSet(null));
    }

    Mono<Void> redis(Deed deed) {
        return switch (deed) {
            case START -> redis.start(this::connect);
            case KILL -> redis.kill();
            case FREEZE -> redis.freeze(FROZEN);
        };
    }

    /** The self-test would say of this server, which nobody else uses, what everybody knows. */
    private void connect(RedisClient client) {
        List<RedisStore> stores = instances.stream()
                .map(instance -> RedisStore.of(client.connect()).withoutSelfTest())
                .toList();
        IntStream.range(0, stores.size()).forEach(index -> instances.get(index).connect(stores.get(index)));
    }

    @Override
    public void change(Settings changed) {
        settings = changed;
        newCode.set(CodeSample.of(changed));
        instances.forEach(instance -> instance.change(changed));
    }

    @Override
    public List<Frame.Totals> totals() {
        return instances.stream().map(Instance::totals).toList();
    }

    @Override
    public void close() {
        instances.forEach(Instance::close);
        redis.close();
    }
}
