package io.github.reactorratelimit.architecture;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.TokenBucket;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The types of ours that one element of a paced stream meets, as docs/design.md lists them. */
class TypesOfOneElementTest {

    private static final Path GUIDE = Path.of("..", "docs", "design.md");
    private static final String BEGIN = "<!-- types of one element -->";
    private static final String END = "<!-- end of types -->";
    private static final Pattern TYPE = Pattern.compile("`([A-Z][A-Za-z.]*)`");

    /** One element that is allowed at once, one that waits, one that is cancelled while it waits. */
    public static final class Scenario implements Runnable {

        @Override
        public void run() {
            VirtualTimeScheduler time = VirtualTimeScheduler.getOrSet();
            try {
                List<Integer> emitted = new ArrayList<>();
                BaseSubscriber<Integer> subscriber = new BaseSubscriber<>() {
                    @Override
                    protected void hookOnSubscribe(Subscription subscription) {}

                    @Override
                    protected void hookOnNext(Integer element) {
                        emitted.add(element);
                    }
                };
                Flux.range(1, 100)
                        .transform(limitRate(TokenBucket.perSecond(100).withBurst(20)))
                        .subscribe(subscriber);
                subscriber.request(19);
                MetTypes.record(true);
                subscriber.request(2);
                check(emitted.size() == 20);
                time.advanceTimeBy(Duration.ofMillis(10));
                check(emitted.size() == 21);
                subscriber.request(1);
                subscriber.cancel();
                time.advanceTimeBy(Duration.ofMillis(10));
                check(emitted.size() == 21);
            } finally {
                MetTypes.record(false);
                VirtualTimeScheduler.reset();
            }
        }

        private static void check(boolean holds) {
            if (!holds) {
                throw new AssertionError("the stream was not paced as expected");
            }
        }
    }

    @Test
    void guideListsTheTypesThatOneElementMeets() throws IOException, ReflectiveOperationException {
        Set<String> met = new TreeSet<>();
        for (String name : MetTypes.of(Scenario.class)) {
            met.add(name.substring(name.lastIndexOf('.') + 1)
                    .replaceAll("\\$[0-9]+$", "")
                    .replace('$', '.'));
        }
        String text = Files.readString(GUIDE);
        assertThat(text).contains(BEGIN, END);
        Set<String> listed = new TreeSet<>();
        Matcher types = TYPE.matcher(text.substring(text.indexOf(BEGIN), text.indexOf(END)));
        while (types.find()) {
            listed.add(types.group(1));
        }
        assertThat(listed)
                .as("types in docs/design.md, beside those met: " + met)
                .isEqualTo(met);
    }
}
