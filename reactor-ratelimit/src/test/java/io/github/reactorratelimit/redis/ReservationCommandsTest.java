package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.Range;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Slots ahead, as the script hands them out, takes them back and moves them; at times that the test chooses. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class ReservationCommandsTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");

    /** In front of a script: its keys do not expire, since the times of the test are not the server's. */
    private static final String LASTING = """
            local server = redis
            local redis = { error_reply = server.error_reply }
            function redis.pcall(name, key, ...)
              if name == 'PEXPIRE' then
                return 1
              elseif name == 'SET' then
                return server.pcall(name, key, (...))
              elseif key then
                return server.pcall(name, key, ...)
              end
              return server.pcall(name)
            end
            """;

    private static final long START = 1_758_000_000_000_000L;
    private static final long INSTANCE = 7;

    private final StatefulRedisConnection<String, String> connection;
    private final ServerClock clock = ScriptSteps.clockAt(START);
    private ScriptPolicy policy;
    private String[] keys;
    private long now = START;
    private CommandReply last;
    private boolean isUnsettled;
    private final List<String> history = new ArrayList<>();

    ReservationCommandsTest(Standalone redis) {
        this.connection = redis.connect();
        use(LeakyBucket.perSecond(10).withQueue(100));
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }

    private void use(RateLimitPolicy used) {
        policy = ScriptPolicy.of(used);
        String name = new RedisKeys("t", UUID.randomUUID().toString()).named("k");
        keys = new String[] {name, name + ":free"};
    }

    private CommandReply ask(Command command) {
        List<Object> reply = connection
                .sync()
                .eval(LASTING + RedisScript.ofCommands().text(), ScriptOutputType.MULTI, keys, arguments(command));
        isUnsettled = reply.get(1) instanceof String text && CallReply.isUnsettled(text);
        last = ScriptSteps.parse(policy, List.of(command), reply).get(0);
        history.add("%n%d %s %s".formatted(now - START, command, last));
        return last;
    }

    private String[] arguments(Command command) {
        return new String[] {Long.toString(now), "1", policy.text(clock), ScriptSteps.entry(List.of(command), true)};
    }

    /** Microseconds after the start at which the slot lies, -1 if there is none. */
    private long reserve(long permits) {
        CommandReply answer = ask(Command.reserve(permits, Command.UNBOUNDED_MICROS, INSTANCE));
        return answer.allowed() ? now + answer.waitMicros() - START : -1;
    }

    private void free(long permits, long slot) {
        free(permits, slot, false);
    }

    private void free(long permits, long slot, boolean byRefund) {
        CommandReply.KeyStatus key = last.key();
        ask(Command.freeSlot(permits, START + slot - key.shiftMicros(), key.generation(), byRefund));
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                LeakyBucket.perSecond(10).withQueue(1_000),
                new LeakyBucket(7, Duration.ofSeconds(3), 1_000, false),
                new LeakyBucket(300_000, Duration.ofSeconds(1), 1_000, false),
                Gcra.of(7, Duration.ofSeconds(3)),
                Gcra.perSecond(10).withBurst(1),
                TokenBucket.perSecond(5).withBurst(3),
                TokenBucket.perSecond(1_000_000).withBurst(50));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void slotsAreWhereTheProjectionOfTheJavaStepsPutsThem(RateLimitPolicy policy) {
        use(policy);
        SplittableRandom random = new SplittableRandom(Seeds.of("slots"));
        Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, START));
        Projection<?> line = projection(algorithm);
        for (int i = 0; i < 200; i++) {
            now += random.nextInt(3) == 0 ? random.nextLong(200_000) : 0;
            long permits = 1 + random.nextLong(Math.min(4, policy.capacity()));
            line = line.place(now, permits);
            assertThat(reserve(permits)).isEqualTo(line.at() - START);
        }
    }

    private static <S> Projection<S> projection(Algorithm<S> algorithm) {
        return new Projection<>(algorithm, algorithm.fresh(), START);
    }

    @Test
    void takeBehindSlotsIsDeniedUntilAllHaveLeft() {
        assertThat(reserve(1)).isZero();
        assertThat(reserve(1)).isEqualTo(100_000);
        assertThat(reserve(2)).isEqualTo(200_000);

        CommandReply denied = ask(Command.acquire(1));

        assertThat(denied.allowed()).isFalse();
        assertThat(denied.waitMicros()).isEqualTo(400_000);
        now += 399_999;
        assertThat(ask(Command.acquire(1)).allowed()).isFalse();
        now += 1;
        assertThat(ask(Command.acquire(1)).allowed()).isTrue();
    }

    @Test
    void debtComesBehindTheSlotsThatWerePromisedAndIsNotCutOffWhenTheyPass() {
        use(TokenBucket.perSecond(10));
        ask(Command.acquire(10));
        assertThat(reserve(1)).isEqualTo(100_000);

        assertThat(ask(Command.charge(25, 20)).count())
                .as("the slot is no debt")
                .isEqualTo(5);

        now += 200_000;
        assertThat(ask(Command.peek(1)).waitMicros()).isEqualTo(2_000_000);
        assertThat(reserve(1)).isEqualTo(2_200_000);
    }

    @Test
    void debtStaysWhenSlotsAreVoidBecauseAPauseEndsEarly() {
        use(TokenBucket.perSecond(10));
        ask(Command.acquire(10));
        ask(Command.pause(10_000_000));
        reserve(1);
        ask(Command.charge(20, 100));
        ask(Command.pause(0));
        assertThat(ask(Command.peek(1)).waitMicros()).isEqualTo(2_100_000);
    }

    @Test
    void debtIsKeptAsItIsWhenTheClockGoesBack() {
        use(TokenBucket.perSecond(10));
        ask(Command.charge(30, 100));
        now -= 5_000_000;
        assertThat(ask(Command.peek(1)).waitMicros()).isEqualTo(2_100_000);
    }

    @Test
    void slotFurtherThanTheLongestWaitIsNotReserved() {
        reserve(1);
        CommandReply tooFar = ask(Command.reserve(1, 99_999, INSTANCE));

        assertThat(tooFar.allowed()).isFalse();
        assertThat(tooFar.waitMicros()).isEqualTo(100_000);
        assertThat(ask(Command.reserve(1, 100_000, INSTANCE)).allowed()).isTrue();
        assertThat(reserve(1)).isEqualTo(200_000);
    }

    @Test
    void queueTakesNoMoreThanItHolds() {
        use(LeakyBucket.perSecond(10).withQueue(2));
        assertThat(reserve(1)).isZero();
        assertThat(reserve(1)).isEqualTo(100_000);
        assertThat(reserve(1)).isEqualTo(200_000);
        assertThat(reserve(1)).isEqualTo(-1);
        now += 100_000;
        assertThat(reserve(1)).isEqualTo(300_000);
        assertThat(reserve(1)).isEqualTo(-1);
        free(1, 200_000);
        assertThat(reserve(1)).isEqualTo(200_000);
    }

    @Test
    void slotFreedInTheMiddleIsTakenFirstAndThoseBehindStay() {
        for (int i = 0; i < 5; i++) {
            reserve(1);
        }
        free(1, 200_000);

        assertThat(reserve(1)).isEqualTo(200_000);
        assertThat(reserve(1)).isEqualTo(500_000);
    }

    @Test
    void freedSlotLaterThanTheLongestWaitIsNotTaken() {
        for (int i = 0; i < 5; i++) {
            reserve(1);
        }
        free(1, 300_000);

        assertThat(ask(Command.reserve(1, 299_999, INSTANCE)).allowed()).isFalse();
        assertThat(reserve(1)).isEqualTo(300_000);
    }

    @Test
    void slotBehindTheLastOneOfAnOlderStateIsNotFreed() {
        reserve(1);
        reserve(1);
        String older = connection.sync().get(keys[0]);
        reserve(1);
        connection.sync().set(keys[0], older);

        free(1, 200_000);

        assertThat(connection.sync().get(keys[0])).isEqualTo(older);
        assertThat(reserve(1)).isEqualTo(200_000);
    }

    /** More than a call reads of the earliest and of the latest ones. */
    @Test
    void slotsFreedAtOneTimeBetweenManyOthersAddUp() {
        use(TokenBucket.perSecond(10).withBurst(4));
        ask(Command.acquire(4));
        for (int i = 1; i <= 400; i++) {
            reserve(i == 200 ? 4 : 1);
        }
        for (int i = 1; i < 199; i++) {
            free(1, 100_000L * i);
        }
        for (int i = 210; i < 400; i++) {
            free(1, 100_000L * (i + 3));
        }
        assertThat(connection.sync().zcard(keys[1])).isEqualTo(388);

        free(3, 20_300_000);
        free(1, 20_300_000);

        assertThat(connection.sync().zrangebyscore(keys[1], Range.create(START + 20_300_000, START + 20_300_000)))
                .containsExactly((START + 20_300_000) + " 4");
    }

    @Test
    void slotsFreedAtTheTailLeaveNoTrace() {
        for (int i = 0; i < 5; i++) {
            reserve(1);
        }
        free(1, 300_000);
        free(1, 200_000);
        free(1, 400_000);

        assertThat(connection.sync().exists(keys[1])).isZero();
        assertThat(reserve(1)).isEqualTo(200_000);
    }

    @Test
    void freedSlotThatHasPassedIsLost() {
        for (int i = 0; i < 5; i++) {
            reserve(1);
        }
        free(1, 100_000);
        now += 150_000;

        assertThat(reserve(1)).isEqualTo(500_000);
    }

    @Test
    void pauseMovesAllSlotsByAsMuchAndItsEndMovesThemBack() {
        for (int i = 0; i < 3; i++) {
            reserve(1);
        }
        ask(Command.pause(1_000_000));
        assertThat(last.key().shiftMicros()).isEqualTo(1_000_000);
        assertThat(last.key().pauseEndMicros()).isEqualTo(now + 1_000_000);
        assertThat(reserve(1)).isEqualTo(1_300_000);
        now += 400_000;
        ask(Command.pause(0));
        assertThat(last.key().shiftMicros()).isEqualTo(400_000);
        assertThat(last.key().pauseEndMicros()).isZero();
        free(1, 500_000);
        assertThat(reserve(1)).isEqualTo(500_000);
        assertThat(reserve(1)).isEqualTo(800_000);
    }

    @Test
    void pausedKeyDeniesUntilThePauseEnds() {
        use(TokenBucket.perSecond(10).withBurst(2));
        ask(Command.pause(1_000_000));

        CommandReply denied = ask(Command.acquire(1));

        assertThat(JavaTwin.Answer.of(denied))
                .isEqualTo(new JavaTwin.Answer(false, 0, 1_000_000, 1_000_000, 0, Algorithm.UNKNOWN, 0));
        assertThat(reserve(1)).isEqualTo(1_000_000);
        now += 1_000_000;
        assertThat(ask(Command.acquire(1)).allowed()).isTrue();
        assertThat(ask(Command.acquire(1)).allowed()).isFalse();
    }

    @Test
    void resetMakesSlotsVoid() {
        for (int i = 0; i < 3; i++) {
            reserve(1);
        }
        long before = last.key().generation();
        ask(Command.reset());
        assertThat(last.key().generation()).as("none").isZero();

        assertThat(reserve(1)).isZero();
        assertThat(reserve(1)).isEqualTo(100_000);
        ask(Command.freeSlot(1, START + 100_000, before, false));
        assertThat(reserve(1))
                .as("behind the new slot, which is not the old one")
                .isEqualTo(200_000);
    }

    @Test
    void slotOfABucketThatHasPassedIsGivenBackAsADebitOfItsTime() {
        use(Gcra.of(4, Duration.ofMillis(400)));
        assertThat(reserve(4)).isZero();
        free(4, 0);
        assertThat(reserve(4)).as("nothing flowed").isZero();
        assertThat(reserve(3)).isEqualTo(300_000);
        now += 400_000;
        free(3, 300_000);
        assertThat(reserve(4)).as("one of the three had flowed back").isEqualTo(500_000);
    }

    @Test
    void slotAtTheTailThatHasPassedIsLost() {
        reserve(1);
        reserve(3);
        now += 150_000;
        free(3, 100_000);

        assertThat(reserve(1)).isEqualTo(400_000);
    }

    @Test
    void clockThatGoesBackTakesTheSlotsWithIt() {
        for (int i = 0; i < 3; i++) {
            reserve(1);
        }
        now -= 3_600_000_000L;

        assertThat(reserve(1)).isEqualTo(300_000 - 3_600_000_000L);
        assertThat(last.key().shiftMicros()).isEqualTo(-3_600_000_000L);
    }

    @Test
    void refundBeforeSlotsNeverBringsTwoTogether() {
        use(Gcra.perSecond(10).withBurst(1));
        assertThat(ask(Command.acquire(1)).allowed()).isTrue();
        assertThat(reserve(1)).isEqualTo(100_000);
        ask(Command.refund(1, START));
        assertThat(reserve(1)).isEqualTo(200_000);

        use(Gcra.perSecond(10).withBurst(3));
        for (int i = 0; i < 3; i++) {
            ask(Command.acquire(1));
        }
        assertThat(reserve(1)).isEqualTo(100_000);
        ask(Command.refund(1, START));
        assertThat(reserve(1)).isEqualTo(100_000);
    }

    @Test
    void earlyEndOfAPauseBringsNoMoreTogetherThanTheBurst() {
        use(new Gcra(1, Duration.ofSeconds(2), 5));
        assertThat(ask(Command.acquire(5)).allowed()).isTrue();
        ask(Command.pause(10_000_000));
        for (int i = 0; i < 5; i++) {
            assertThat(reserve(1)).isEqualTo(10_000_000);
        }
        long generation = last.key().generation();
        now += 2;
        ask(Command.pause(0));

        assertThat(reserve(1)).isEqualTo(2_000_000);
        assertThat(last.key().generation()).as("who holds a slot reserves anew").isNotEqualTo(generation);
        assertThat(reserve(1)).isEqualTo(4_000_000);
    }

    @Test
    void earlyEndOfAPauseAfterTheClockWentBackForgetsNoDebit() {
        use(new Gcra(1, Duration.ofSeconds(2), 5));
        assertThat(ask(Command.acquire(5)).allowed()).isTrue();
        ask(Command.pause(10_000_000));
        assertThat(reserve(1)).isEqualTo(10_000_000);
        now -= 1_000_000;
        ask(Command.pause(0));

        assertThat(reserve(1)).isEqualTo(1_000_000);
    }

    @Test
    void permitsChargedInAPauseStayWhenItEndsEarly() {
        use(new Gcra(1, Duration.ofSeconds(2), 5));
        assertThat(ask(Command.acquire(3)).allowed()).isTrue();
        ask(Command.pause(1_000_000));
        assertThat(reserve(1)).isEqualTo(1_000_000);
        ask(Command.chargeRemaining(1));
        ask(Command.pause(0));

        assertThat(reserve(1)).isZero();
        assertThat(reserve(1)).isEqualTo(2_000_000);
    }

    @Test
    void shiftIsKnownForLongerThanSlotsLieAhead() {
        use(new LeakyBucket(1, Duration.ofMinutes(1), 20, false));
        reserve(1);
        reserve(1);
        evalWithExpiry(Command.pause(1));
        for (int i = 0; i < 10; i++) {
            evalWithExpiry(Command.reserve(1, Command.UNBOUNDED_MICROS, INSTANCE));
        }

        assertThat(connection.sync().pttl(keys[0]))
                .isGreaterThan(Duration.ofMinutes(12).toMillis());
    }

    private void evalWithExpiry(Command command) {
        connection.sync().eval(RedisScript.ofCommands().text(), ScriptOutputType.MULTI, keys, arguments(command));
    }

    @Test
    void policyBeforeDoesNotTouchWhatTheNewerOneOwes() {
        Gcra before = new Gcra(10, Duration.ofSeconds(1), 10);
        use(before);
        ask(Command.acquire(1));
        policy = ScriptPolicy.of(new Gcra(1, Duration.ofSeconds(1), 10))
                .withVersion(2, ScriptPolicy.of(before), ScriptPolicy.UNKNOWN);
        for (int i = 0; i < 9; i++) {
            assertThat(ask(Command.acquire(1)).allowed()).isTrue();
        }
        for (int i = 0; i < 5; i++) {
            now += 1_000;
            assertThat(ask(Command.acquire(1)).allowed()).isFalse();
            assertThat(ask(Command.peek(1)).allowed()).isFalse();
        }
    }

    @Test
    void slotsThatNobodyCanHaveReservedAreCorrupt() {
        for (String stored : List.of(
                START + " 0 " + (START + 10 * 366 * 86_400_000_000L) + " 0 " + START + " 0 0 0 1 0 0",
                START + " 0 " + (START + 5) + " 0 " + START + " -9 0 0 1 0 0",
                START + " 0 " + (START + 5) + " 0 " + START + " 0 -1 0 1 0 0",
                START + " 0 " + (START + 5) + " 0 " + START + " 0 0 0 1 -1 0",
                START + " 0 " + (START + 5) + " 0 " + START + " 0 0 0 1")) {
            connection.sync().set(keys[0], "12" + stored);
            assertThatThrownBy(() -> ask(Command.acquire(1))).hasMessageContaining("RATELIMITCORRUPT ");
        }
    }

    private record Slot(long at, long permits, boolean byRefund) {

        Slot(long at, long permits) {
            this(at, permits, false);
        }
    }

    private List<Slot> reserveInto(List<Slot> held, long permits) {
        long slot = reserve(permits);
        if (slot >= 0) {
            held.add(new Slot(START + slot, permits, last.byRefund()));
        }
        return held;
    }

    private void free(Slot slot) {
        free(slot.permits, slot.at - START, slot.byRefund);
        while (isUnsettled) {
            ask(Command.peek(1));
        }
    }

    /** The time stands still, so that what the key owes can be told exactly. */
    @ParameterizedTest
    @MethodSource("policies")
    void slotsThatAreAllFreedLeaveNothingWhateverWasRefundedBetweenThem(RateLimitPolicy policy) {
        long seed = Seeds.of("refunds between slots");
        int rounds = FULL ? 100 : 4;
        for (int i = 0; i < rounds; i++) {
            use(policy);
            history.clear();
            leaveNothing(
                    Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, START)),
                    policy,
                    new SplittableRandom(seed + i),
                    i % 4 == 0 ? 400 : 40);
        }
    }

    private <S> void leaveNothing(Algorithm<S> steps, RateLimitPolicy policy, SplittableRandom random, int count) {
        boolean queues = policy instanceof LeakyBucket;
        long capacity = queues ? 1 : policy.capacity();
        long mostCost = capacity > 2 ? 2 : 1;
        // What is owed before a slot, of which a fraction of a tick is rounded off: refunds of more are lost.
        long refundable = capacity - mostCost - 1;
        assertThat(ask(Command.acquire(capacity)).allowed()).isTrue();
        S state = steps.debit(steps.fresh(), now, capacity);
        List<Slot> held = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int what = random.nextInt(10);
            if (what < 6 || held.isEmpty()) {
                reserveInto(held, 1 + random.nextLong(mostCost));
            } else if (what < 8) {
                free(held.remove(random.nextInt(held.size())));
            } else if (what == 8 && ask(Command.acquire(1)).allowed()) {
                state = steps.debit(state, now, 1);
                refundable++;
            } else if (what == 9 && refundable > 0) {
                ask(Command.refund(1, now));
                state = steps.refund(state, now, now, 1);
                refundable--;
            }
        }
        while (!held.isEmpty()) {
            free(held.remove(random.nextInt(held.size())));
        }
        assertThat(ask(Command.peek(capacity)).waitMicros())
                .as("after %s", history)
                .isEqualTo(steps.waitTicks(state, now, capacity));
        assertThat(last.key().generation()).as("no slots, after %s", history).isZero();
        assertThat(connection.sync().exists(keys[1])).as("free slots").isZero();
    }

    @Test
    void slotsReservedAfterARefundAreGivenBack() {
        use(Gcra.perSecond(10).withBurst(3));
        ask(Command.acquire(3));
        List<Slot> held = reserveInto(reserveInto(new ArrayList<>(), 1), 1);
        ask(Command.refund(1, START));
        reserveInto(reserveInto(held, 1), 1);
        ask(Command.refund(1, START));
        reserveInto(reserveInto(held, 1), 1);

        held.forEach(this::free);

        assertThat(ask(Command.acquire(2)).allowed()).isTrue();
        assertThat(last.key().generation()).as("nothing is reserved").isZero();
    }

    @Test
    void refundedLeakyBucketGivesItsSlotsBackToo() {
        use(new LeakyBucket(7, Duration.ofSeconds(3), 100, false));
        ask(Command.acquire(1));
        List<Slot> held = reserveInto(reserveInto(new ArrayList<>(), 1), 1);
        ask(Command.refund(1, START));
        reserveInto(reserveInto(held, 1), 1);

        held.forEach(this::free);

        now += 428_572;
        assertThat(ask(Command.acquire(1)).allowed()).isTrue();
    }

    /**
     * Whoever uses a slot uses it at its time. What was used, in the order of time, must be allowed by the
     * Java steps one after the other: no bound is broken, whatever was freed, refunded or taken meanwhile.
     */
    @ParameterizedTest
    @MethodSource("policies")
    void usedSlotsKeepThePolicyWhateverIsFreed(RateLimitPolicy policy) {
        long seed = Seeds.of("freed slots");
        int rounds = FULL ? 200 : 4;
        for (int i = 0; i < rounds; i++) {
            use(policy);
            now = START;
            history.clear();
            conforms(policy, randomUse(policy, new SplittableRandom(seed + i)));
        }
    }

    private List<Slot> randomUse(RateLimitPolicy policy, SplittableRandom random) {
        long stepMicros = Math.max(2, policyStepMicros(policy));
        List<Slot> ahead = new ArrayList<>();
        List<Slot> used = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            now += random.nextLong(stepMicros);
            move(ahead, used);
            long permits = 1 + random.nextLong(Math.min(3, policy.capacity()));
            int what = random.nextInt(10);
            if (what < 5) {
                reserveInto(ahead, permits);
            } else if (what < 8 && !ahead.isEmpty()) {
                free(ahead.remove(random.nextInt(ahead.size())));
            } else if (what == 8 && ask(Command.acquire(permits)).allowed()) {
                used.add(new Slot(now, permits));
            } else if (!used.isEmpty()) {
                Slot back = used.remove(used.size() - 1);
                if (random.nextBoolean()) {
                    ask(Command.refund(back.permits, back.at));
                } else {
                    free(back);
                }
            }
        }
        used.addAll(ahead);
        return used;
    }

    private void move(List<Slot> ahead, List<Slot> used) {
        for (Slot slot : List.copyOf(ahead)) {
            if (slot.at <= now) {
                ahead.remove(slot);
                used.add(slot);
            }
        }
    }

    private static long policyStepMicros(RateLimitPolicy policy) {
        Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, START));
        return intervalMicros(algorithm);
    }

    private static <S> long intervalMicros(Algorithm<S> algorithm) {
        return algorithm.resetTicks(algorithm.debit(algorithm.fresh(), START, 1), START);
    }

    private void conforms(RateLimitPolicy policy, List<Slot> used) {
        used.sort(Comparator.comparingLong(Slot::at));
        conforms(Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, START)), used);
    }

    private <S> void conforms(Algorithm<S> algorithm, List<Slot> used) {
        S state = algorithm.fresh();
        for (Slot slot : used) {
            assertThat(algorithm.waitTicks(state, slot.at, slot.permits))
                    .as("%s among %s, after %s", slot, used, history)
                    .isZero();
            state = algorithm.debit(state, slot.at, slot.permits);
        }
    }
}
