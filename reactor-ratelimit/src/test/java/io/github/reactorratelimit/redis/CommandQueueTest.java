package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The queue of commands before a server that replies when the test says so. */
class CommandQueueTest {

    private static final RateLimitPolicy POLICY = FixedWindow.of(10, Duration.ofSeconds(1));
    private static final Duration DEADLINE = Duration.ofMillis(50);

    private final FakeServer server = new FakeServer();
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AtomicInteger unavailable = new AtomicInteger();
    private final LimiterCommands limiter = limiter("one");
    private final ScriptPolicy policy = ScriptPolicy.of(POLICY);

    private LimiterCommands limiter(String name) {
        return limiter(name, server);
    }

    private LimiterCommands limiter(String name, FakeServer server) {
        LimiterSettings settings =
                new LimiterSettings(name, POLICY, time, Schedulers.parallel(), RateLimitRecorder.NOOP, 10, true);
        StoreOptions options = StoreOptions.DEFAULT.withDeadline(DEADLINE);
        return new LimiterCommands(
                server.queues(), new RedisKeys("p", name), settings, options, new FailureLog(settings, options, false) {
                    @Override
                    void unavailable(String node, RedisUnavailableException why) {
                        unavailable.incrementAndGet();
                    }
                });
    }

    /** A command that counts what becomes of it. */
    private static final class Counted extends PendingCommand {

        private final AtomicInteger ends = new AtomicInteger();
        private final AtomicInteger unused = new AtomicInteger();
        private volatile Throwable error;

        Counted(LimiterCommands limiter, ScriptPolicy policy, String key) {
            super(limiter, key, policy, Command.acquire(1), null);
        }

        @Override
        protected void succeeded(CommandReply reply) {
            ends.incrementAndGet();
        }

        @Override
        protected void failed(Throwable failure) {
            error = failure;
            ends.incrementAndGet();
        }

        @Override
        protected void unused(CommandReply reply) {
            unused.incrementAndGet();
        }
    }

    private Counted send(String key) {
        Counted command = new Counted(limiter, policy, key);
        limiter.send(command);
        return command;
    }

    @Test
    void idleKeyIsSentAtOnceAndABusyOneWaits() {
        Counted first = send("k");
        Counted second = send("k");
        Counted third = send("k");
        assertThat(server.sent()).isEqualTo(1);

        server.reply();
        assertThat(first.ends).hasValue(1);
        assertThat(server.sent()).isEqualTo(2);

        server.reply();
        assertThat(second.ends).hasValue(1);
        assertThat(third.ends).hasValue(1);
        assertThat(server.broken()).isEmpty();
    }

    @Test
    void fewCallsAreInFlightAndTheOthersGather() {
        List<Counted> commands = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            commands.add(send("k" + i));
        }
        assertThat(server.inFlight()).isEqualTo(CommandQueue.MAX_CALLS);

        server.reply();
        assertThat(server.sent()).isEqualTo(CommandQueue.MAX_CALLS + 1);
        while (server.reply()) {
            assertThat(server.broken()).isEmpty();
        }
        assertThat(commands).allMatch(command -> command.ends.get() == 1 && command.error == null);
    }

    /** A request that waits behind a call pays no second deadline. */
    @Test
    void deadlineCountsFromTheRequest() {
        Counted sent = send("k");
        time.advanceTimeBy(Duration.ofMillis(30));
        Counted waiting = send("k");

        time.advanceTimeBy(Duration.ofMillis(20));
        assertThat(sent.error)
                .isInstanceOfSatisfying(
                        RedisUnavailableException.class,
                        late -> assertThat(late.isUnanswered()).isTrue());
        assertThat(waiting.ends).as("the key is free").hasValue(0);
        assertThat(server.sent()).isEqualTo(2);

        time.advanceTimeBy(Duration.ofMillis(30));
        assertThat(waiting.error).isInstanceOf(RedisUnavailableException.class);
    }

    @Test
    void commandThatWasNotSentInTimeCertainlyDidNotRun() {
        for (int i = 0; i < CommandQueue.MAX_CALLS; i++) {
            send("busy" + i);
        }
        Counted waiting = send("k");

        time.advanceTimeBy(DEADLINE);

        assertThat(waiting.error)
                .isInstanceOfSatisfying(
                        RedisUnavailableException.class,
                        late -> assertThat(late.isUnanswered()).isFalse());
    }

    @Test
    void lateReplyIsDiscarded() {
        Counted first = send("k");
        time.advanceTimeBy(DEADLINE);
        assertThat(first.ends).hasValue(1);

        while (server.reply()) {}

        assertThat(first.ends).hasValue(1);
        assertThat(first.error).isNotNull();
        Counted next = send("k");
        server.reply();
        assertThat(next.error).isNull();
        assertThat(next.ends).hasValue(1);
    }

    @Test
    void cancelledCommandInFlightHandsItsReplyOver() {
        Counted sent = send("k");
        Counted waiting = send("k");
        sent.cancel();
        waiting.cancel();

        while (server.reply()) {}

        assertThat(sent.unused).hasValue(1);
        assertThat(sent.ends).hasValue(0);
        assertThat(waiting.unused).hasValue(0);
        assertThat(server.sent()).isEqualTo(1);
    }

    @Test
    void commandsOfADeliveryShareACallThatIsSentMeanwhileIfItTakesLong() {
        VirtualTimeScheduler.set(time);
        try {
            FakeServer timed = new FakeServer();
            LimiterCommands commands = limiter("timed", timed);
            ReplyExecutor.deferringFlush(() -> {
                commands.send(new Counted(commands, policy, "a"));
                commands.send(new Counted(commands, policy, "b"));
                assertThat(timed.sent()).isZero();
                time.advanceTimeBy(Duration.ofMillis(CommandQueue.FLUSH_MILLIS));
                assertThat(timed.sent()).isEqualTo(1);
            });
            assertThat(timed.sent()).isEqualTo(1);
        } finally {
            VirtualTimeScheduler.reset();
        }
    }

    @Test
    void oneCallThatFailsIsOneFailureForTheBreaker() {
        for (int i = 0; i < 100; i++) {
            send("k");
        }
        time.advanceTimeBy(DEADLINE);
        assertThat(unavailable)
                .as("a call in flight and one that was never sent")
                .hasValue(0);
    }

    /** A subscriber that breaks the rules. */
    private static final class Throwing extends PendingCommand {

        private final Error thrown;

        Throwing(LimiterCommands limiter, ScriptPolicy policy, Error thrown) {
            super(limiter, "k", policy, Command.acquire(1), null);
            this.thrown = thrown;
        }

        @Override
        protected void succeeded(CommandReply reply) {
            throw thrown;
        }

        @Override
        protected void failed(Throwable failure) {
            throw thrown;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void subscriberThatThrowsKeepsNobodyFromTheReplyOfTheSameCall(boolean replies) {
        Thread thread = Thread.currentThread();
        Thread.UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
        AtomicReference<Throwable> uncaught = new AtomicReference<>();
        thread.setUncaughtExceptionHandler((where, thrown) -> uncaught.set(thrown));
        try {
            Counted first = send("k");
            AssertionError thrown = new AssertionError("thrown by a subscriber");
            limiter.send(new Throwing(limiter, policy, thrown));
            Counted last = send("k");
            if (replies) {
                while (server.reply()) {}
            } else {
                time.advanceTimeBy(DEADLINE);
            }
            assertThat(first.ends).hasValue(1);
            assertThat(last.ends).hasValue(1);
            assertThat(uncaught).hasValue(thrown);
        } finally {
            thread.setUncaughtExceptionHandler(before);
        }
    }

    /** The key stands in line for the next call because of a later command, and its group leaves first. */
    @Test
    void keyOfAGroupTravelsOnceAtATime() {
        send("b");
        List<CommandGroup.Member> members = List.of(
                new CommandGroup.Member(limiter, "a", policy, Command.acquire(1)),
                new CommandGroup.Member(limiter, "b", policy, Command.acquire(1)));
        AtomicReference<List<CommandReply>> together = new AtomicReference<>();
        CommandGroup.send(members).subscribe(together::set);
        AtomicReference<Counted> later = new AtomicReference<>();
        server.duringNext(() -> {
            server.reply();
            later.set(send("a"));
        });

        send("other");
        assertThat(server.broken()).isEmpty();
        while (server.reply()) {
            assertThat(server.broken()).isEmpty();
        }

        assertThat(together.get()).hasSize(2);
        assertThat(later.get().ends).hasValue(1);
    }

    @Test
    void groupThatMissesItsDeadlineEndsWithAllItsCommands() {
        List<CommandGroup.Member> members = List.of(
                new CommandGroup.Member(limiter, "a", policy, Command.acquire(1)),
                new CommandGroup.Member(limiter, "b", policy, Command.acquire(1)));
        AtomicReference<Throwable> error = new AtomicReference<>();
        CommandGroup.send(members).subscribe(replies -> {}, error::set);
        time.advanceTimeBy(DEADLINE);
        assertThat(error.get()).isInstanceOf(RedisUnavailableException.class);

        assertThat(limiter.idle().toFuture()).isCompleted();
    }

    @Test
    void callWhoseCommandsAllExpiredEndsThoughOneDidBeforeItWasSent() {
        Counted first = new Counted(limiter, policy, "k");
        Counted second = new Counted(limiter, policy, "k");
        limiter.begin(first);
        limiter.begin(second);
        CommandQueue.KeyCommands key = new CommandQueue.KeyCommands(first.name);
        key.waiting.add(first);
        key.waiting.add(second);
        ScriptCall call = new ScriptCall(server.queue(), new CommandQueue.SlotKeys(0), false);
        call.add(key);

        RedisUnavailableException late = new RedisUnavailableException("late");
        first.expire(late);
        call.send();
        second.expire(late);

        assertThat(first.ends).hasValue(1);
        assertThat(second.ends).hasValue(1);
        send("k");
        assertThat(server.broken()).isEmpty();
    }

    @Test
    void callWhoseCommandsAllExpiredBeforeItWasSentIsNot() {
        Counted only = new Counted(limiter, policy, "k");
        limiter.begin(only);
        CommandQueue.KeyCommands key = new CommandQueue.KeyCommands(only.name);
        key.waiting.add(only);
        ScriptCall call = new ScriptCall(server.queue(), new CommandQueue.SlotKeys(0), false);
        call.add(key);

        only.expire(new RedisUnavailableException("late"));
        call.send();

        assertThat(only.ends).hasValue(1);
        assertThat(server.sent()).isZero();
    }

    /** The fallback decides; the reply says what the time is, so the next command is sent with other windows. */
    @Test
    void commandOutsideTheCalendarWindowsFailsAndTheClockIsSet() {
        Counted first = send("k");
        Counted second = send("k");
        server.replyError("RATELIMITWINDOW 1000");
        assertThat(first.error).isInstanceOf(RedisUnavailableException.class).hasMessageContaining("RATELIMITWINDOW");
        assertThat(limiter.clock().aboutMicros()).isEqualTo(FakeServer.NOW);

        server.reply();
        assertThat(second.error).isNull();
        assertThat(server.sent()).isEqualTo(2);
    }

    @Test
    void keysOfACallThatFailAlikeAreOneFailureForTheBreaker() {
        for (int i = 0; i < CommandQueue.MAX_CALLS; i++) {
            send("busy" + i);
        }
        for (int i = 0; i < 2 * CircuitBreaker.FAILURES_IN_A_ROW; i++) {
            send("k" + i);
        }
        for (int i = 0; i < CommandQueue.MAX_CALLS; i++) {
            server.reply();
        }
        server.replyError("OOM command not allowed");
        assertThat(unavailable).hasValue(0);
    }

    @Test
    void replyHasATimeAndTwoValuesForEachKey() {
        long time = FakeServer.NOW;
        String text = "0 0 0 0 -|1 9 0 5 0 5 0";
        assertThat(errorAfter(time, text, 0L)).isNull();
        assertThat(errorAfter(time, text)).as("too few").isInstanceOf(RedisReplyException.class);
        assertThat(errorAfter(time, text, 0L, 0L)).as("too many").isInstanceOf(RedisReplyException.class);
        assertThat(errorAfter("now", text, 0L)).as("no time").isInstanceOf(RedisReplyException.class);
        assertThat(errorAfter(1L << 53, text, 0L)).as("no time").isInstanceOf(RedisReplyException.class);
        assertThat(errorAfter(time, List.of(1L), 0L)).as("nested").isInstanceOf(RedisReplyException.class);
        assertThat(errorAfter(time, null, 0L)).as("absent").isInstanceOf(RedisReplyException.class);
        assertThat(errorAfter(time, 1L, "x")).as("one integer").isInstanceOf(RedisReplyException.class);
    }

    /** What a command ends with after such a reply; null if it succeeds. */
    private @Nullable Throwable errorAfter(@Nullable Object... values) {
        Counted command = send("k");
        server.replyValues(values);
        assertThat(command.ends).hasValue(1);
        return command.error;
    }

    /** Initial tokens refill since the limiter was opened, not since the limiter that it shares a call with was. */
    @Test
    void limitersThatShareACallKeepTheirOwnStart() {
        LimiterCommands other = limiter("two");
        RateLimitPolicy bucket = TokenBucket.perMinute(10).withInitialTokens(0);
        ScriptPolicy ofOther = ScriptPolicy.of(bucket);
        limiter.clock().startAt(1_000);
        other.clock().startAt(900_000_000);
        for (int i = 0; i < CommandQueue.MAX_CALLS; i++) {
            send("busy" + i);
        }
        send("k");
        other.send(new Counted(other, ofOther, "k"));
        while (server.reply()) {}

        assertThat(server.sent()).as("they share a call").isEqualTo(CommandQueue.MAX_CALLS + 1);
        assertThat(ofOther.text(other.clock())).endsWith(" 900000000");
    }

    /** Threads send, cancel and let time pass while others reply. */
    @Test
    void everyCommandEndsOnceWhateverRaces() throws Exception {
        int threads = 3;
        int rounds = 3_000;
        Queue<Counted> all = new ConcurrentLinkedQueue<>();
        CountDownLatch done = new CountDownLatch(threads);
        for (int t = 0; t < threads; t++) {
            SplittableRandom random = new SplittableRandom(t);
            new Thread(() -> {
                        for (int i = 0; i < rounds; i++) {
                            Counted command = send("k" + random.nextInt(6));
                            all.add(command);
                            if (random.nextInt(3) == 0) {
                                command.cancel();
                            }
                            if (random.nextInt(2) == 0) {
                                server.reply();
                            }
                            if (random.nextInt(200) == 0) {
                                time.advanceTimeBy(DEADLINE);
                            }
                        }
                        done.countDown();
                    })
                    .start();
        }
        assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
        for (int i = 0; i < 3; i++) {
            while (server.reply()) {}
            time.advanceTimeBy(Duration.ofSeconds(1));
        }

        assertThat(server.broken()).isEmpty();
        assertThat(all).hasSize(threads * rounds).allSatisfy(command -> {
            assertThat(command.ends.get() + command.unused.get()).isLessThanOrEqualTo(1);
            assertThat(command.isEnded()).isTrue();
        });
        assertThat(server.queue().size()).isZero();
    }

    /** Nothing that a reply runs into may keep its keys: nobody would ever be answered. */
    @Test
    void keyIsFreeAlthoughSomebodyWhoLeftBreaksWhenTheReplyComes() {
        PendingCommand broken = new PendingCommand(limiter, "k", policy, Command.acquire(1), null) {
            @Override
            protected void succeeded(CommandReply reply) {}

            @Override
            protected void failed(Throwable error) {}

            @Override
            protected void unused(CommandReply reply) {
                throw new StackOverflowError();
            }
        };
        limiter.send(broken);
        broken.cancel();
        Counted next = send("k");
        server.reply();
        server.reply();
        assertThat(next.ends).hasValue(1);
        assertThat(next.error).isNull();
    }
}
