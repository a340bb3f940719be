package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.queue.DrainLoop;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** When the pipe is poked for what threads ask in their turns. */
class TurnTest {

    private static final int RACES = Boolean.getBoolean("ratelimit.tests.full") ? 200_000 : 20_000;

    /** Longer than two looks of the watch. */
    private static final Duration LONG = ofMillis(50);

    private final VirtualTimeScheduler timer = VirtualTimeScheduler.create();
    private final Pipe pipe = new Pipe();
    private final Turn turn = new Turn(pipe, timer);
    private final HandThread thread = new HandThread();

    private static final class Pipe extends DrainLoop {

        private final Queue<Integer> asked = new ConcurrentLinkedQueue<>();
        private int pokes;

        @Override
        protected void drain() {
            pokes++;
            asked.clear();
        }
    }

    @Test
    void pipeIsPokedOnceForAllThatIsAskedInATurn() {
        for (int i = 0; i < 10; i++) {
            assertThat(turn.pokesLater(thread)).isTrue();
        }
        assertThat(pipe.pokes).isZero();

        thread.endTurn();

        assertThat(pipe.pokes).isEqualTo(1);
    }

    @Test
    void everyTurnPokes() {
        for (int i = 1; i <= 3; i++) {
            turn.pokesLater(thread);
            thread.endTurn();
            assertThat(pipe.pokes).isEqualTo(i);
        }
    }

    @Test
    void turnOfOneThreadPokesForAnother() {
        HandThread other = new HandThread();
        turn.pokesLater(thread);
        turn.pokesLater(other);

        assertThat(other.waiting()).isZero();
        thread.endTurn();
        assertThat(pipe.pokes).isEqualTo(1);
    }

    @Test
    void threadThatIsKeptInItsTurnIsNotWaitedFor() {
        turn.pokesLater(thread);

        timer.advanceTimeBy(LONG);

        assertThat(pipe.pokes).isEqualTo(1);
        thread.endTurn();
        assertThat(pipe.pokes).isEqualTo(1);
    }

    @Test
    void threadThatIsKeptInALaterTurnIsNotWaitedForEither() {
        turn.pokesLater(thread);
        thread.endTurn();
        turn.pokesLater(thread);

        timer.advanceTimeBy(LONG);

        assertThat(pipe.pokes).isEqualTo(2);
    }

    @Test
    void nobodyWatchesWhenNoTurnGoesOn() {
        turn.pokesLater(thread);
        thread.endTurn();
        timer.advanceTimeBy(LONG);

        assertThat(timer.getScheduledTaskCount()).isEqualTo(1);
    }

    @Test
    void threadThatTakesNoTasksIsNotWaitedFor() {
        HandThread gone = new HandThread();
        gone.refuse();

        assertThat(turn.pokesLater(gone)).isFalse();
        assertThat(turn.pokesLater(thread)).isTrue();
        thread.endTurn();
        assertThat(pipe.pokes).isEqualTo(1);
    }

    static Stream<Throwable> failures() {
        return Stream.of(new IllegalStateException("broken"), new AssertionError("broken"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void threadWhoseExecuteFailsIsNotWaitedFor(Throwable failure) {
        HandThread broken = new HandThread();
        broken.refuseBy(failure);

        assertThat(turn.pokesLater(broken)).isFalse();
        assertThat(turn.pokesLater(thread)).isTrue();
        thread.endTurn();
        assertThat(pipe.pokes).isEqualTo(1);
    }

    @Test
    void turnsEndWithoutATimerToo() {
        Scheduler gone = Schedulers.newSingle("gone");
        gone.dispose();
        Turn unwatched = new Turn(pipe, gone);

        assertThat(unwatched.pokesLater(thread)).isTrue();
        thread.endTurn();
        assertThat(pipe.pokes).isEqualTo(1);
    }

    @Test
    void whatIsAskedAtTheMomentWhenATurnEndsIsNotLeftLying() {
        List<Pipe> pipes = Stream.generate(Pipe::new).limit(RACES).toList();
        List<Turn> turns = pipes.stream().map(each -> new Turn(each, timer)).toList();
        List<HandThread> threads = turns.stream().map(each -> new HandThread()).toList();
        for (int i = 0; i < RACES; i++) {
            turns.get(i).pokesLater(threads.get(i));
        }
        try (Race race = new Race(RACES, Seeds.next())) {
            race.run(
                    i -> {
                        pipes.get(i).asked.add(i);
                        turns.get(i).pokesLater(threads.get(i));
                    },
                    i -> threads.get(i).endTurn());
        }
        threads.forEach(HandThread::endTurn);

        assertThat(pipes).allSatisfy(each -> assertThat(each.asked).isEmpty());
    }
}
