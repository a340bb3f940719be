package io.github.reactorratelimit.documentation.figures;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The diagrams in {@code docs/marbles} show what the operators do: each is drawn from a run of the real ones, and the build
 * fails where the file says something else. {@code -Dratelimit.docs.write=true} writes them.
 */
class MarblesTest {

    private static final Figures FIGURES = new Figures("marbles");
    private static final TokenBucket TEN_A_SECOND = TokenBucket.perSecond(10).withBurst(2);
    private static final String FIVE_AT_ONCE = "1@0 2@0 3@0 4@30 5@60 |@90";
    private static final String TWO_CUSTOMERS = "a1@0 a2@20 a3@40 b1@60 a4@80 b2@100 |@130";

    @TestFactory
    Stream<DynamicTest> everyDiagramIsWhatHappens() {
        Map<String, Supplier<Scene>> scenes = new LinkedHashMap<>();
        scenes.put("waiting", MarblesTest::waiting);
        scenes.put("leaky", MarblesTest::leaky);
        scenes.put("reject", MarblesTest::reject);
        scenes.put("drop", MarblesTest::drop);
        scenes.put("fallback", MarblesTest::fallback);
        scenes.put("in-order", MarblesTest::inOrder);
        scenes.put("unordered", MarblesTest::unordered);
        scenes.put("mono", MarblesTest::mono);
        scenes.put("concurrency", MarblesTest::concurrency);
        return scenes.entrySet().stream()
                .map(scene -> DynamicTest.dynamicTest(
                        scene.getKey(),
                        () -> FIGURES.check(
                                scene.getKey(),
                                MarbleDrawing.of(scene.getValue().get().play()))));
    }

    private static Scene waiting() {
        Scene scene = new Scene("limitRate(TokenBucket.perSecond(10).withBurst(2))", 500);
        Flux<String> source = scene.source("orders", "1@0 2@0 3@0 4@30 5@430 |@460");
        scene.show("paced", source.transform(limitRate(scene.limiter(TEN_A_SECOND))));
        return scene;
    }

    private static Scene leaky() {
        Scene scene = new Scene("limitRate(LeakyBucket.perSecond(10))", 500);
        Flux<String> source = scene.source("orders", FIVE_AT_ONCE);
        scene.show("paced", source.transform(limitRate(scene.limiter(LeakyBucket.perSecond(10)))));
        return scene;
    }

    private static Scene reject() {
        Scene scene = new Scene("limitRate(limiter, spec -> spec.reject())", 300);
        Flux<String> source = scene.source("orders", "1@0 2@30 3@60 4@230 |@260");
        scene.show("limited", source.transform(limitRate(scene.limiter(TEN_A_SECOND), spec -> spec.reject())));
        return scene;
    }

    private static Scene drop() {
        Scene scene = new Scene("limitRate(limiter, spec -> spec.drop((order, decision) -> …))", 300);
        Flux<String> source = scene.source("orders", "1@0 2@30 3@60 4@160 5@190 6@240 |@270");
        Line dropped = scene.below("dropped");
        scene.show(
                "limited",
                source.transform(limitRate(
                        scene.limiter(TEN_A_SECOND),
                        spec -> spec.drop((order, decision) -> dropped.discarded(order)))));
        return scene;
    }

    private static Scene fallback() {
        Scene scene = new Scene("limitRate(limiter, spec -> spec.fallback((order, decision) -> \"–\"))", 300);
        Flux<String> source = scene.source("orders", "1@0 2@30 3@60 4@160 5@190 6@240 |@270");
        scene.show(
                "limited",
                source.transform(
                        limitRate(scene.limiter(TEN_A_SECOND), spec -> spec.fallback((order, decision) -> "–"))));
        return scene;
    }

    private static Scene inOrder() {
        Scene scene = new Scene("limitRate(limiter, spec -> spec.key(Order::customer))", 500);
        Flux<String> source = scene.source("orders", TWO_CUSTOMERS);
        scene.show(
                "in order",
                source.transform(limitRate(scene.limiter(TEN_A_SECOND), spec -> spec.key(MarblesTest::customer))));
        return scene;
    }

    private static Scene unordered() {
        Scene scene = new Scene("limitRate(limiter, spec -> spec.key(Order::customer).unordered(64))", 500);
        Flux<String> source = scene.source("orders", TWO_CUSTOMERS);
        scene.show(
                "unordered",
                source.transform(limitRate(
                        scene.limiter(TEN_A_SECOND),
                        spec -> spec.key(MarblesTest::customer).unordered(64))));
        return scene;
    }

    private static String customer(String order) {
        return order.substring(0, 1);
    }

    private static Scene mono() {
        Scene scene = new Scene("call.transform(limitRate(limiter, spec -> spec.maxWait(ofMillis(250))))", 500);
        RateLimiter limiter = scene.limiter(LeakyBucket.perSecond(10));
        Line asked = scene.above("subscribed");
        Line begun = scene.below("the call begins");
        Line denied = scene.below("denied");
        Disposable.Composite third = Disposables.composite();
        for (int i = 1; i <= 5; i++) {
            String name = String.valueOf(i);
            scene.at(30L * (i - 1), () -> {
                asked.element(name);
                Disposable waiting = Mono.fromRunnable(() -> begun.element(name))
                        .transform(limitRate(limiter, spec -> spec.maxWait(ofMillis(250))))
                        .subscribe(x -> {}, error -> denied.cancel(name + " would wait too long"));
                if (name.equals("3")) {
                    third.add(waiting);
                }
            });
        }
        scene.at(150, () -> {
            asked.cancel("3 is cancelled");
            third.dispose();
        });
        return scene;
    }

    private static Scene concurrency() {
        Scene scene = new Scene("work.transform(limitRate(RateLimiter.of(ConcurrencyLimit.of(2))))", 500);
        RateLimiter limiter = scene.limiter(ConcurrencyLimit.of(2));
        Line asked = scene.above("subscribed");
        Line begun = scene.below("work begins");
        Line ended = scene.below("work ends");
        long[] workMillis = {200, 80, 150, 100};
        for (int i = 0; i < workMillis.length; i++) {
            String name = String.valueOf(i + 1);
            long millis = workMillis[i];
            scene.at(20L * i, () -> {
                asked.element(name);
                Mono.<String>create(sink -> {
                            begun.element(name);
                            scene.at(millis, () -> {
                                ended.element(name);
                                sink.success(name);
                            });
                        })
                        .transform(limitRate(limiter))
                        .subscribe();
            });
        }
        return scene;
    }
}
