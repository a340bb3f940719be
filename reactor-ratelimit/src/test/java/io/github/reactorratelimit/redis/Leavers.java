package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntFunction;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Subscribers that leave about when their answer comes, and give back what was delivered to them all the same. */
final class Leavers {

    /** What they left behind has to be answered and given back, one after the other: on a busy machine that takes a while. */
    static final Duration PATIENCE = Duration.ofSeconds(120);

    /** Under way at a time, so that calls are shared and answers come in crowds. */
    private static final int AT_A_TIME = 64;

    /** From a microsecond to 16 milliseconds, each doubling as likely as any other: round trips differ from machine to machine. */
    private static final int DOUBLINGS = 15;

    private Leavers() {}

    /** Completes when all have left; what they gave back may still be under way. */
    static <T> void leave(int count, IntFunction<Mono<T>> ask, Function<T, Mono<Void>> giveBack) {
        SplittableRandom random = new SplittableRandom(Seeds.of("leavers"));
        AtomicInteger served = new AtomicInteger();
        Flux.range(0, count)
                .flatMap(
                        i -> leaver(ask.apply(i), random.nextInt(1 << random.nextInt(1, DOUBLINGS)), served, giveBack),
                        AT_A_TIME)
                .blockLast(PATIENCE);
        System.out.printf("leavers: %d, of whom %d were served%n", count, served.get());
    }

    private static <T> Mono<Void> leaver(
            Mono<T> asked, int afterMicros, AtomicInteger served, Function<T, Mono<Void>> giveBack) {
        return Mono.create(left -> {
            BaseSubscriber<T> leaver = new BaseSubscriber<>() {
                @Override
                protected void hookOnNext(T delivered) {
                    served.incrementAndGet();
                    giveBack.apply(delivered).subscribe();
                }
            };
            asked.subscribe(leaver);
            Schedulers.parallel()
                    .schedule(
                            () -> {
                                leaver.cancel();
                                left.success();
                            },
                            afterMicros,
                            TimeUnit.MICROSECONDS);
        });
    }
}
