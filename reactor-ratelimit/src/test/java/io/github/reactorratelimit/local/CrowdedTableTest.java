package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.local.Cell.Shared;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Far more keys that owe permits than the store holds. */
class CrowdedTableTest {

    private static final int MAX_KEYS = 100;
    private static final int CROWD = 100_000;

    private final Logger logger = (Logger) LoggerFactory.getLogger(LocalStore.class);
    private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

    @BeforeEach
    void listen() {
        logged.start();
        logger.addAppender(logged);
    }

    @AfterEach
    void stopListening() {
        logger.detachAppender(logged);
    }

    static Stream<RateLimitPolicy> oneAnHour() {
        return Stream.of(TokenBucket.of(1, Duration.ofHours(1)), SlidingWindowLog.of(1, Duration.ofHours(1)));
    }

    @ParameterizedTest
    @MethodSource("oneAnHour")
    void keysDeniedForWhatOthersSpentAreWarnedOfOnce(RateLimitPolicy policy) {
        RateLimiter limiter = RateLimiter.builder(policy)
                .store(LocalStore.withMaxKeys(MAX_KEYS))
                .scheduler(VirtualTimeScheduler.create())
                .build();
        for (int i = 0; i < MAX_KEYS; i++) {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow("early" + i, 1)).isTrue();
            assertThat(DirectLimiter.of(limiter).tryAcquireNow("early" + i, 1)).isFalse();
        }
        assertThat(logged.list).as("keys that are denied for what they spent").isEmpty();

        int denied = 0;
        for (int i = 0; i < CROWD; i++) {
            denied += DirectLimiter.of(limiter).tryAcquireNow("late" + i, 1) ? 0 : 1;
        }
        System.out.printf("%d of %d keys without room were denied their first permit: %s%n", denied, CROWD, policy);
        assertThat(denied).isPositive();
        assertThat(logged.list).hasSize(1);
        ILoggingEvent warning = logged.list.get(0);
        assertThat(warning.getLevel()).isEqualTo(Level.WARN);
        assertThat(warning.getFormattedMessage())
                .contains("maxKeys")
                .contains("100")
                .doesNotContain("late");
    }

    /** A table with room for one key. Something happens after a key found no room, before it uses an overflow cell. */
    private static KeyTable tableOfOneKey(RateLimitPolicy policy, Consumer<KeyTable> beforeOverflow) {
        Shared<Long> shared = new Shared<>(
                Algorithms.asLong(policy, Tables.CLOCK).orElseThrow(), EvictionHorizon.of(policy, Tables.CLOCK));
        Cell<Long> pristine = new LongCell("", 0);
        pristine.begin(shared, pristine);
        AtomicReference<KeyTable> made = new AtomicReference<>();
        Supplier<Cell<Long>> overflow = () -> {
            beforeOverflow.accept(made.get());
            Cell<Long> cell = new LongCell("", 0);
            cell.begin(shared, pristine);
            return cell;
        };
        made.set(new BoundedKeyTable<>(
                new CellMap<>(LongCell::new, 1), shared, pristine, new OverflowCells<>(overflow, 1, 1), null));
        return made.get();
    }

    /** The key has no room, and gets one of its own while the other thread is on its way to the overflow cell. */
    private static KeyTable tableWhoseKeyEntersJustBeforeItsOverflowCellIsUsed() {
        KeyTable crowded = tableOfOneKey(Tables.gcra(1_000_000_000_000L, 5), table -> {
            table.reset("other", Tables.at(1));
            assertThat(table.debit(Tables.KEY, 1, 1).allowed()).isTrue();
            assertThat(Tables.cells(table).keys()).toIterable().containsExactly(Tables.KEY);
        });
        assertThat(crowded.tryTake("other", 0, 1)).isTrue();
        return crowded;
    }

    @Test
    void permitsSpentForAPolicyChangeAreMissingAlsoIfTheKeyEntersMeanwhile() {
        KeyTable table = tableWhoseKeyEntersJustBeforeItsOverflowCellIsUsed();
        assertThat(table.spendAll(Tables.KEY, 1))
                .singleElement()
                .satisfies(spent -> assertThat(spent.permits()).isOne());
        assertThat(table.read(Tables.KEY, 1, 1).remaining()).isZero();
        assertThat(table.tryTake(Tables.KEY, 1, 1)).isFalse();
    }

    @Test
    void permitsThatAreOverdrawnAreMissingAlsoIfTheKeyEntersMeanwhile() {
        KeyTable table = tableWhoseKeyEntersJustBeforeItsOverflowCellIsUsed();
        assertThat(table.overdraw(Tables.KEY, 1, 3, 0)).isZero();
        assertThat(table.read(Tables.KEY, 1, 1).remaining()).isOne();
    }

    @Test
    void permitsThatAreDebitedAreMissingAlsoIfTheKeyEntersMeanwhile() {
        KeyTable table = tableWhoseKeyEntersJustBeforeItsOverflowCellIsUsed();
        assertThat(table.debit(Tables.KEY, 1, 3).remaining()).isOne();
        assertThat(table.read(Tables.KEY, 1, 1).remaining()).isOne();
    }
}
