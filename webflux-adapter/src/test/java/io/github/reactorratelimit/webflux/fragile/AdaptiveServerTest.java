package io.github.reactorratelimit.webflux.fragile;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.adaptive.Adaptation;
import io.github.reactorratelimit.adaptive.AdaptiveLimiter;
import io.github.reactorratelimit.adaptive.AdaptivePolicy;
import io.github.reactorratelimit.adaptive.AdaptiveRate;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Settings;
import io.github.reactorratelimit.webflux.testing.Eventually;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * An adaptive limit before a real server. The short form only looks which way the limit moves, and that the long one runs. That one ({@code -Pfull}) changes
 * the capacity from 100 to 20 to 150 per second and prints what came of it; its bounds are those of a machine that has nothing else
 * to do.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class AdaptiveServerTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int SECONDS = FULL ? 30 : 1;
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

    /** A call that asks again while it is all being closed may find the limiter closed: no error of a call counts but for the limiter. */
    private static Disposable callers(int callers, FragileServer server, AdaptiveLimiter limiter) {
        Mono<String> call = WebClient.create(server.url())
                .get()
                .retrieve()
                .bodyToMono(String.class)
                .transform(limiter.limitCalls())
                .onErrorComplete();
        return Flux.range(0, callers).flatMap(i -> call.repeat(), callers).subscribe();
    }

    /** Slow is so much here that a busy machine alone is not. */
    @ParameterizedTest
    @EnumSource(Overload.class)
    void limitFallsWhenTheServerIsOverrunAndRisesWhenItCanBearMore(Overload overload) {
        AdaptiveRate policy =
                aimd().withInitial(400).withAdaptation(Adaptation.aimd().withSlowCalls(ofMillis(500)));
        AdaptiveLimiter limiter = limiter(policy);
        Disposable.Swap calls = Disposables.swap();
        try (FragileServer server =
                FragileServer.start(Settings.of(20, overload).withLatency(ofMillis(5)))) {
            calls.update(callers(20, server, limiter));
            awaitLimit("the limit falls", limiter, limit -> limit < 200);
            server.capacityPerSecond(100_000);
            long[] lowest = {CEILING};
            awaitLimit("the limit rises", limiter, limit -> {
                lowest[0] = Math.min(lowest[0], limit);
                return limit >= lowest[0] + 3;
            });
            calls.dispose();
        } finally {
            calls.dispose();
            limiter.dispose();
        }
    }

    private static void awaitLimit(String what, AdaptiveLimiter limiter, LongPredicate reached) {
        Eventually.until(what, () -> {
            long limit = limiter.currentLimit();
            assertThat(limit).isBetween((long) FLOOR, (long) CEILING);
            return reached.test(limit);
        });
    }

    private record Contender(String name, AdaptiveRate policy, Overload overload) {}

    private static Stream<Contender> contenders() {
        AdaptiveRate slow = aimd().withAdaptation(Adaptation.aimd().withSlowCalls(ofMillis(200)));
        return Stream.of(
                        new Contender("AIMD", aimd(), Overload.REFUSES),
                        new Contender(
                                "gradient", AdaptiveRate.gradient(FLOOR, CEILING, ofSeconds(1)), Overload.SLOWS_DOWN),
                        new Contender("AIMD, slow calls", slow, Overload.SLOWS_DOWN),
                        new Contender("AIMD", aimd(), Overload.FAILS))
                .limit(FULL ? 4 : 1);
    }

    @ParameterizedTest
    @MethodSource("contenders")
    void limitFollowsTheCapacity(Contender contender) {
        AdaptiveLimiter limiter = limiter(contender.policy());
        Disposable.Swap calls = Disposables.swap();
        List<ServerCourse> courses = new ArrayList<>();
        try (FragileServer server = FragileServer.start(Settings.of(100, contender.overload())
                .withTolerance(ofMillis(100))
                .withLatency(ofMillis(50)))) {
            warmUp(server);
            calls.update(callers(50, server, limiter));
            for (long capacity : new long[] {100, 20, 150}) {
                server.capacityPerSecond(capacity);
                long begun = System.nanoTime();
                Eventually.until(
                        "the phase is over",
                        () -> System.nanoTime() - begun >= ofSeconds(SECONDS).toNanos());
                courses.add(ServerCourse.of(capacity, server.arrivals(), begun, SECONDS));
                System.out.println(
                        contender.name() + ", " + contender.overload() + ", " + courses.get(courses.size() - 1));
            }
            calls.dispose();
        } finally {
            calls.dispose();
            limiter.dispose();
        }
        assertThat(courses).hasSize(3);
        if (FULL && contender.overload() != Overload.FAILS) {
            assertThat(courses).allSatisfy(AdaptiveServerTest::isGood);
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
