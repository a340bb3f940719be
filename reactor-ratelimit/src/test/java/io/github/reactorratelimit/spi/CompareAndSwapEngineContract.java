package io.github.reactorratelimit.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** What every engine must do. Extend it, and {@code FullRateLimiterContract} with a store on the engine. */
public abstract class CompareAndSwapEngineContract {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration LONG = Duration.ofHours(1);
    private static final byte[] ONE = {1};
    private static final byte[] TWO = {2, 2};

    private final String key = "contract-" + UUID.randomUUID();

    /** The engine under test; two of them share their values. */
    protected abstract CompareAndSwapEngine engine();

    private static <T> T now(Mono<T> answer) {
        return answer.blockOptional(PATIENCE).orElseThrow();
    }

    private byte @Nullable [] value() {
        return engine().get(key).block(PATIENCE);
    }

    private boolean set(byte @Nullable [] expected, byte[] next) {
        return now(engine().compareAndSet(key, expected, next, LONG));
    }

    @Test
    void valueIsStoredOnlyInThePlaceOfTheExpectedOne() {
        assertThat(value()).isNull();
        assertThat(set(ONE, TWO)).isFalse();
        assertThat(value()).isNull();
        assertThat(set(null, ONE)).isTrue();
        assertThat(set(null, TWO)).isFalse();
        assertThat(set(TWO, TWO)).isFalse();
        assertThat(value()).isEqualTo(ONE);
        assertThat(set(ONE.clone(), TWO)).isTrue();
        assertThat(value()).isEqualTo(TWO);
    }

    @Test
    void valueIsRemovedOnlyIfItIsTheExpectedOne() {
        assertThat(now(engine().compareAndRemove(key, ONE))).isFalse();
        set(null, ONE);
        assertThat(now(engine().compareAndRemove(key, TWO))).isFalse();
        assertThat(value()).isEqualTo(ONE);
        assertThat(now(engine().compareAndRemove(key, ONE.clone()))).isTrue();
        assertThat(value()).isNull();
        assertThat(set(null, TWO)).isTrue();
    }

    @Test
    void nothingHappensBeforeSubscriptionAndEachOneActs() {
        Mono<Boolean> add = engine().compareAndSet(key, null, ONE, LONG);
        assertThat(value()).isNull();
        assertThat(now(add)).isTrue();
        assertThat(now(add)).isFalse();
        Mono<Boolean> remove = engine().compareAndRemove(key, ONE);
        assertThat(value()).isEqualTo(ONE);
        assertThat(now(remove)).isTrue();
        assertThat(now(remove)).isFalse();
    }

    @Test
    void ofConcurrentChangesOneWins() {
        set(null, ONE);
        Long won = Flux.range(0, 64)
                .flatMap(
                        i -> engine().compareAndSet(key, ONE, new byte[] {3, i.byteValue()}, LONG)
                                .subscribeOn(Schedulers.boundedElastic()),
                        64)
                .filter(stored -> stored)
                .count()
                .block(PATIENCE);
        assertThat(won).isEqualTo(1);
    }

    @Test
    void valueIsGoneAfterItsTimeToLive() {
        now(engine().compareAndSet(key, null, ONE, Duration.ofMillis(1)));
        Await.until("the value is gone", () -> value() == null);
        assertThat(set(null, TWO)).isTrue();
    }

    @Test
    void longerTimeToLiveReplacesAShorterOne() {
        now(engine().compareAndSet(key, null, ONE, Duration.ofSeconds(2)));
        Instant start = Instant.now();
        set(ONE, TWO);
        Await.until("the first time to live has passed", () -> Instant.now().isAfter(start.plusSeconds(4)));
        assertThat(value()).isEqualTo(TWO);
    }

    @Test
    void timeGoesOn() {
        Instant first = now(engine().now());
        Await.until("a later time", () -> now(engine().now()).isAfter(first));
    }
}
