package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Commands that are decided together, on a Cluster whose hash slots move. */
class MovedGroupTest {

    private static final RateLimitPolicy POLICY = FixedWindow.of(10, Duration.ofSeconds(1));

    private final FakeServer server = new FakeServer();
    private final AtomicReference<String> node = new AtomicReference<>("one");
    private final ScriptPolicy policy = ScriptPolicy.of(POLICY);
    private final LimiterCommands limiter = limiter();

    private LimiterCommands limiter() {
        CommandQueues queues = new CommandQueues(server, slot -> node.get(), () -> {});
        LimiterSettings settings = new LimiterSettings(
                "one", POLICY, VirtualTimeScheduler.create(), Schedulers.parallel(), RateLimitRecorder.NOOP, 10, true);
        StoreOptions options = StoreOptions.DEFAULT;
        return new LimiterCommands(
                queues, new RedisKeys("p", "one", "slot"), settings, options, new FailureLog(settings, options, true));
    }

    private void send(String key) {
        limiter.send(key, policy, Command.acquire(1)).subscribe();
    }

    @Test
    void groupThatIsCancelledAfterItsSlotMovedHoldsUpNoCommandBehindIt() {
        send("a");
        send("a");
        List<CommandGroup.Member> members = Stream.of("a", "b")
                .map(key -> new CommandGroup.Member(limiter, key, policy, Command.acquire(1)))
                .toList();
        Disposable group = CommandGroup.send(members).subscribe();
        send("b");
        server.reply();
        assertThat(server.sent()).as("the group waits for the second command").isEqualTo(2);

        node.set("two");
        group.dispose();
        while (server.reply()) {
            assertThat(server.broken()).isEmpty();
        }
        assertThat(limiter.idle().toFuture()).isCompleted();
    }
}
