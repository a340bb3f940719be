package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

/** Each prefix, hash tag, limiter and key has permits of its own, whatever characters they hold. */
@ExtendWith(RedisExtension.class)
class KeyNamesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Its state lies in three Redis keys: the value and two logs. */
    private static final RateLimitPolicy ONCE = Policies.all(
            FixedWindow.of(1, Duration.ofDays(300)).fromFirstRequest(),
            SlidingWindowLog.of(1, Duration.ofDays(200)),
            SlidingWindowLog.of(1, Duration.ofDays(300)));

    private static final List<String> PIECES = List.of(
            "a", "b", ":", "::", "{", "}", "{a}", "%", "%003A", "003A", "%007B", ":log", ":log2", ":value", "?",
            "\uD800", "ä");

    private final StatefulRedisConnection<String, String> connection;
    private final String unique = "names-" + UUID.randomUUID();

    KeyNamesTest(Standalone redis) {
        this.connection = redis.connect();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private RedisStore store(String prefix) {
        return RedisStore.of(connection)
                .withPrefix(unique + prefix)
                .withDeadline(PATIENCE)
                .withoutSelfTest();
    }

    private static RateLimiter limiter(RedisStore store, String name) {
        return RateLimiter.builder(ONCE).name(name).store(store).build();
    }

    @ParameterizedTest
    @CsvSource({"a, b:c, a:b, c", "a, ':b', 'a:', b", "a:b, c, a, b:c", "a%003Ab, c, a:b, c"})
    void limitersWhoseNamesAndKeysJoinToTheSameTextShareNothing(
            String limiter, String key, String otherLimiter, String otherKey) {
        RedisStore store = store("");
        assertThat(limiter(store, limiter).tryAcquire(key).block(PATIENCE).allowed())
                .isTrue();
        assertThat(limiter(store, otherLimiter)
                        .tryAcquire(otherKey)
                        .block(PATIENCE)
                        .allowed())
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {":log", ":log2", ":free", ":leases", ":value", ":value:log", "}:log"})
    void keyThatIsNamedLikeMoreOfAnotherSharesNothingWithIt(String ending) {
        for (RedisStore store : stores()) {
            RateLimiter limiter = limiter(store, "a");
            for (String key : List.of("k", "k" + ending, "k" + ending + ending)) {
                assertThat(limiter.tryAcquire(key).block(PATIENCE).allowed())
                        .as("%s in %s", key, store)
                        .isTrue();
            }
        }
    }

    @Test
    void noTwoGeneratedNamesMeet() {
        long seed = Seeds.of("generated key names");
        Random random = new Random(seed);
        int names = Boolean.getBoolean("ratelimit.tests.full") ? 100 : 16;
        Set<String> limiters = generated(random, names);
        Set<String> keys = generated(random, names);
        List<String> shared = new ArrayList<>();
        for (RedisStore store : stores()) {
            for (String name : limiters) {
                RateLimiter limiter = limiter(store, name);
                shared.addAll(Flux.fromIterable(keys)
                        .flatMap(key -> limiter.tryAcquire(key)
                                .filter(decision -> !decision.allowed())
                                .map(denied -> "'" + name + "' '" + key + "' in " + store))
                        .collectList()
                        .block(PATIENCE));
            }
        }
        assertThat(shared).as("keys that were spent before, seed " + seed).isEmpty();
    }

    private List<RedisStore> stores() {
        return Stream.of("", ":a", ":a:b", "%003Aa")
                .map(this::store)
                .flatMap(store -> Stream.of(store, store.withHashTag("a"), store.withHashTag("a:b")))
                .toList();
    }

    private static Set<String> generated(Random random, int count) {
        Set<String> names = new LinkedHashSet<>(List.of("a", "a:b", "b:c", "c", "a%003Ab", "a:", ":b"));
        while (names.size() < count) {
            names.add(IntStream.rangeClosed(0, random.nextInt(4))
                    .mapToObj(i -> PIECES.get(random.nextInt(PIECES.size())))
                    .collect(Collectors.joining()));
        }
        return names;
    }

    @Test
    void aPrefixThatRedisCannotTellFromAnotherIsRefused() {
        assertThatThrownBy(() -> store("\uD800")).isInstanceOf(IllegalArgumentException.class);
    }
}
