package io.github.reactorratelimit.webflux.fragile;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.adaptive.Adaptation;
import io.github.reactorratelimit.adaptive.AdaptiveLimiter;
import io.github.reactorratelimit.adaptive.AdaptivePolicy;
import io.github.reactorratelimit.adaptive.AdaptiveRate;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Settings;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongPredicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * An adaptive limit before a real server whose capacity changes from 100 to 20 to 150 per second. The short form waits until the limit is near each capacity, and
 * asserts that most calls are answered well then: that holds on a busy machine too. The long form ({@code -Pfull}) prints and bounds how soon that is,
 * and what is lost until then; its bounds are those of a machine that has nothing else to do.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class AdaptiveServerTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int SECONDS = 30;
    private static final int NEXT_CALLS = 40;
    private static final int FLOOR = 5;
    private static final int CEILING = 500;

    private static AdaptiveRate aimd() {
        return AdaptiveRate.aimd(FLOOR, CEILING, ofSeconds(1));
    }

    private static AdaptiveLimiter limiter(AdaptivePolicy policy) {
        return AdaptiveLimiter.builder(policy)
                .overloadWhen(WebClientResponseException.class::isInstance)
                .build();
    }

    /** Callers who call again and again until they are closed. No call is cancelled then: Spring might drop what becomes of it. */
    private static final class Callers implements AutoCloseable {

        private final AdaptiveLimiter limiter;
        private final AtomicBoolean closed = new AtomicBoolean();
        private final AtomicBoolean ended = new AtomicBoolean();

        Callers(int callers, FragileServer server, AdaptiveLimiter limiter) {
            this.limiter = limiter;
            Mono<String> call = WebClient.create(server.url())
                    .get()
                    .retrieve()
                    .bodyToMono(String.class)
                    .transform(limiter.limitCalls())
                    .onErrorComplete();
            Flux.range(0, callers)
                    .flatMap(i -> call.repeat(() -> !closed.get()), callers)
                    .doOnComplete(() -> ended.set(true))
                    .subscribe();
        }

        /** Calls that wait end with the limiter, those that are sent with their answers. */
        @Override
        public void close() {
            closed.set(true);
            limiter.dispose();
            Await.until("all calls have ended", ended::get);
        }
    }

    /** Slow is so much here that a busy machine alone is not. */
    @ParameterizedTest
    @EnumSource(Overload.class)
    @SuppressWarnings("try") // the calls run until they are closed
    void limitFallsWhenTheServerIsOverrunAndRisesWhenItCanBearMore(Overload overload) {
        AdaptiveRate policy =
                aimd().withInitial(400).withAdaptation(Adaptation.aimd().withSlowCalls(ofMillis(500)));
        AdaptiveLimiter limiter = limiter(policy);
        try (FragileServer server =
                        FragileServer.start(Settings.of(20, overload).withLatency(ofMillis(5)));
                Callers calls = new Callers(20, server, limiter)) {
            awaitLimit("the limit falls", limiter, limit -> limit < 200);
            server.capacityPerSecond(100_000);
            long[] lowest = {CEILING};
            awaitLimit("the limit rises", limiter, limit -> {
                lowest[0] = Math.min(lowest[0], limit);
                return limit >= lowest[0] + 3;
            });
        }
    }

    private static void awaitLimit(String what, AdaptiveLimiter limiter, LongPredicate reached) {
        Await.until(what, () -> {
            long limit = limiter.currentLimit();
            assertThat(limit).isBetween((long) FLOOR, (long) CEILING);
            return reached.test(limit);
        });
    }

    private record Contender(String name, AdaptiveRate policy, Overload overload) {}

    private static Stream<Contender> contenders() {
        AdaptiveRate slow = aimd().withAdaptation(Adaptation.aimd().withSlowCalls(ofMillis(200)));
        if (!FULL) {
            AdaptiveRate quick = aimd().withAdaptation(Adaptation.aimd().withWindow(ofMillis(100), 10));
            return Stream.of(new Contender("AIMD, short windows", quick, Overload.REFUSES));
        }
        return Stream.of(
                new Contender("AIMD", aimd(), Overload.REFUSES),
                new Contender("gradient", AdaptiveRate.gradient(FLOOR, CEILING, ofSeconds(1)), Overload.SLOWS_DOWN),
                new Contender("AIMD, slow calls", slow, Overload.SLOWS_DOWN),
                new Contender("AIMD", aimd(), Overload.FAILS));
    }

    @ParameterizedTest
    @MethodSource("contenders")
    @SuppressWarnings("try") // the calls run until they are closed
    void limitFollowsTheCapacity(Contender contender) {
        AdaptiveLimiter limiter = limiter(contender.policy());
        try (FragileServer server = FragileServer.start(Settings.of(100, contender.overload())
                .withTolerance(ofMillis(100))
                .withLatency(ofMillis(50)))) {
            warmUp(server);
            try (Callers calls = new Callers(50, server, limiter)) {
                for (long capacity : new long[] {100, 20, 150}) {
                    server.capacityPerSecond(capacity);
                    if (FULL) {
                        measure(contender, capacity, server);
                    } else {
                        follow(capacity, server, limiter);
                    }
                }
            }
        }
    }

    /** Without a limit the callers would send a thousand calls per second, of which the server answers few well. */
    private static void follow(long capacity, FragileServer server, AdaptiveLimiter limiter) {
        awaitLimit(
                "the limit is near " + capacity, limiter, limit -> 2 * limit >= capacity && 2 * limit <= 3 * capacity);
        int before = server.arrived();
        Await.until("more calls", () -> server.arrived() >= before + NEXT_CALLS);
        assertThat(server.arrivals().subList(before, before + NEXT_CALLS))
                .as("calls answered well by a server that can do %d per second", capacity)
                .filteredOn(arrival -> arrival.status() == 200)
                .hasSizeGreaterThan(NEXT_CALLS / 2);
    }

    private static void measure(Contender contender, long capacity, FragileServer server) {
        long begun = System.nanoTime();
        Await.until(
                "the phase is over",
                () -> System.nanoTime() - begun >= ofSeconds(SECONDS).toNanos());
        ServerCourse course = ServerCourse.of(capacity, server.arrivals(), begun, SECONDS);
        System.out.println(contender.name() + ", " + contender.overload() + ", " + course);
        if (contender.overload() != Overload.FAILS) {
            isGood(course);
        }
    }

    /** Not asked of a server to which failures cost as much as answers: there it is printed only. */
    private static void isGood(ServerCourse course) {
        assertThat(course.converged()).as("%s", course).isLessThanOrEqualTo(SECONDS - ServerCourse.STRETCH);
        assertThat(course.goodput()).as("%s", course).isGreaterThanOrEqualTo(0.85);
        assertThat(course.overloads()).as("%s", course).isLessThan(0.02);
    }

    private static void warmUp(FragileServer server) {
        WebClient client = WebClient.create(server.url());
        Flux.range(0, 200)
                .flatMap(
                        i -> client.get()
                                .retrieve()
                                .bodyToMono(String.class)
                                .onErrorComplete(WebClientResponseException.class),
                        10)
                .blockLast();
        server.forget();
    }
}
