package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** What is given out by the local share of a limit while Redis is away is charged to Redis when it is back. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class LocalChargeTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final RateLimitPolicy POLICY = TokenBucket.of(100, Duration.ofDays(1));

    /** An answer that is later counts as none, and what it charged as lost: long enough for a slow machine. */
    private static final Duration DEADLINE = ofSeconds(2);

    private final AtomicLong lost = new AtomicLong();
    private final String name = "charge-" + UUID.randomUUID();
    private final RateLimitRecorder recorder = new RateLimitRecorder() {
        @Override
        public void counted(Event event, long permits) {
            if (event == Event.CHARGE_LOST) {
                lost.addAndGet(permits);
            }
        }
    };
    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> faulty;
    private final StatefulRedisConnection<String, String> direct;
    private final RateLimiter limiter;
    private final RateLimiter reader;

    LocalChargeTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        faulty = client.connect();
        direct = redis.connect();
        limiter = RateLimiter.builder(POLICY)
                .name(name)
                .recorder(recorder)
                .store(RedisStore.of(faulty).withDeadline(DEADLINE).whenUnavailable(FailureMode.local(POLICY.share(5))))
                .build();
        reader = RateLimiter.builder(POLICY)
                .name(name)
                .store(RedisStore.of(direct).withDeadline(PATIENCE))
                .build();
    }

    @AfterEach
    void disconnect() {
        faulty.close();
        direct.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    private void spendWhileAway(int permits) {
        proxy.blackHole();
        for (int i = 0; i < permits; i++) {
            Decision decision = limiter.tryAcquire("k").block(PATIENCE);
            assertThat(decision.allowed() && decision.degraded()).isTrue();
            limiter.peek("k").block(PATIENCE);
            limiter.refund(decision).block(PATIENCE);
        }
    }

    private void comeBack() {
        proxy.pass();
        Await.until("Redis answers", () -> !limiter.peek("k").block(PATIENCE).degraded());
    }

    private long remaining() {
        return reader.peek("k").block(PATIENCE).remaining();
    }

    @Test
    void whatWasGivenOutWhileRedisWasAwayIsChargedOnce() {
        spendWhileAway(7);
        comeBack();
        Await.until("7 are charged", () -> remaining() == 93);
        // At most one call for a key is in flight, so the reply to the charge has come too.
        assertThat(limiter.peek("k").block(PATIENCE).degraded()).isFalse();
        spendWhileAway(2);
        comeBack();
        Await.until("2 are charged", () -> remaining() == 91);
        for (int i = 0; i < 10; i++) {
            limiter.peek("k").block(PATIENCE);
        }
        assertThat(remaining()).isEqualTo(91);
        assertThat(lost).hasValue(0);
    }

    private LocalSpending spending(int maxKeys) {
        Scheduler scheduler = Schedulers.parallel();
        LimiterSettings settings = new LimiterSettings(name, POLICY, scheduler, scheduler, recorder, 1, true);
        StoreOptions options = StoreOptions.DEFAULT.withDeadline(DEADLINE);
        VersionedCommands commands = LimiterParts.commands(RedisConnections.of(faulty), settings, options);
        // The first command waits until the versions are read, whose reply is not the one that is to be lost.
        Await.until(
                "the versions are read",
                () -> commands.send("other", null, Command.peek(1)).block(PATIENCE) != null);
        return new LocalSpending(settings, commands, maxKeys);
    }

    @Test
    void chargeWithoutAnAnswerIsCountedAndNotSentAgain() {
        LocalSpending spending = spending(10);
        spending.add("k", null, 7);
        proxy.dropReplies();
        spending.charge();
        Await.until("the charge is lost", () -> lost.get() == 7);
        comeBack();
        spending.charge();
        limiter.peek("k").block(PATIENCE);
        assertThat(remaining()).as("it ran once").isEqualTo(93);
        assertThat(lost).hasValue(7);
    }

    @Test
    void keyOwesOneCapacityAtMost() {
        LocalSpending spending = spending(10);
        for (int i = 0; i < 3; i++) {
            spending.add("k", null, 80);
        }
        proxy.blackHole();
        spending.charge();
        Await.until("the charge is lost", () -> lost.get() > 0);
        assertThat(lost).hasValue(100);
    }

    @Test
    void whatKeysBeyondTheBoundOweIsLostAtOnce() {
        LocalSpending spending = spending(2);
        spending.add("k", null, 1);
        spending.add("other", null, 1);
        spending.add("third", null, 5);
        assertThat(lost).hasValue(5);
        spending.add("k", null, 2);
        spending.charge();
        Await.until("3 are charged", () -> remaining() == 97);
        assertThat(lost).hasValue(5);
    }

    @Test
    void shareEndsWithTheLimiter() {
        spendWhileAway(1);
        limiter.close().block(PATIENCE);
        assertThat(limiter.isDisposed()).isTrue();
    }
}
