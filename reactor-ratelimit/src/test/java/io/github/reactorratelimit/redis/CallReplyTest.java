package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.redis.CommandReply.KeyStatus;
import io.github.reactorratelimit.redis.JavaTwin.Answer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What our script replies is read; all else is an error that says what is wrong. */
class CallReplyTest {

    private static final long NOW = 1_758_000_000_123_456L;

    private final ScriptPolicy policy =
            ScriptPolicy.of(Policies.all(TokenBucket.perSecond(5), FixedWindow.of(9, Duration.ofDays(1))));

    private List<CommandReply> parse(List<Command> commands, String text) {
        return CallReply.parse(policy, commands, NOW, text);
    }

    @Test
    void everyCommandHasItsReply() {
        List<CommandReply> replies = parse(
                List.of(Command.acquire(1), Command.acquire(1)),
                "7 -3 2 -8 -|1 9 0 100000 0 30000 0|0 2 9007199254740991 7 1 - 0");

        assertThat(replies)
                .extracting(Answer::of)
                .containsExactly(
                        new Answer(true, 9, 0, 100_000, 0, 30_000, 0),
                        new Answer(false, 2, (1L << 53) - 1, 7, 1, Algorithm.UNKNOWN, 0));
        assertThat(replies.get(0).key()).isEqualTo(new KeyStatus(NOW, 7, -3, 2, -8, false));
        assertThat(replies.get(1).binding()).isInstanceOf(FixedWindow.class);
    }

    @Test
    void countStandsBesideTheWait() {
        CommandReply reply = parse(List.of(Command.acquireUpTo(7)), "0 0 0 0 -|1 5 0 3 0 1 4")
                .get(0);
        assertThat(reply.count()).isEqualTo(4);
    }

    @Test
    void slotThatRefundsPayForSaysSo() {
        CommandReply reply = parse(List.of(Command.reserve(1, 99, 1)), "0 5 3 0 -|2 5 40 3 0 - 77")
                .get(0);
        assertThat(reply.allowed()).isTrue();
        assertThat(reply.byRefund()).isTrue();
        assertThat(reply.slotBaseMicros()).isEqualTo(77);
    }

    @ParameterizedTest
    @CsvSource({
        "0,2,allowed",
        "0,0,allowed",
        "0,true,allowed",
        "1,-1,remaining",
        "1,1.5,remaining",
        "1,-0,remaining",
        "1,0x10,remaining",
        "1,nan,remaining",
        "1,9007199254740992,remaining",
        "1,99999999999999999999,remaining",
        "2,7,allowed",
        "2,-7,wait",
        "3,-1,reset",
        "3,inf,reset",
        "3,007,reset",
        "3,1e3,reset",
        "4,2,part",
        "4,-1,part",
        "5,-1,more",
        "5,soon,more",
        "6,-1,count",
        "6,x,count"
    })
    void whatIsNoReplyIsAnErrorThatNamesTheValue(int index, String value, String name) {
        String[] words = {"1", "9", "0", "100000", "1", "5", "0"};
        parse(List.of(Command.acquire(1)), "0 0 0 0 -|" + String.join(" ", words));

        words[index] = value;

        assertThatThrownBy(() -> parse(List.of(Command.acquire(1)), "0 0 0 0 -|" + String.join(" ", words)))
                .isInstanceOf(RedisReplyException.class)
                .hasMessageContaining(name);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "x",
                "0 0 0 0 -",
                "0 0 0 0|1 9 0 5 0 5 0",
                "0 0 0 0 -|1 9 0 5 0 5",
                "0 0 0 0 -|1 9 0 5 0 5 0|1 9 0 5 0 5 0",
                "x 0 0 0 -|1 9 0 5 0 5 0",
                "-1 0 0 0 -|1 9 0 5 0 5 0",
                "0 0 -1 0 -|1 9 0 5 0 5 0"
            })
    void anotherFormIsAnError(String text) {
        assertThatThrownBy(() -> parse(List.of(Command.acquire(1)), text)).isInstanceOf(RedisReplyException.class);
    }

    @Test
    void versionsAreRead() {
        ScriptPolicy versions = ScriptPolicy.versions(TokenBucket.perSecond(5));
        CommandReply reply = CallReply.parse(
                        versions, List.of(Command.readVersions()), NOW, "0 0 0 0 -|1 0 0 0 0 - 0|2,gcra;5,1,gcra;4")
                .get(0);
        assertThat(reply.versions())
                .containsExactly(java.util.Map.entry(1L, "gcra 4"), java.util.Map.entry(2L, "gcra 5"));
    }
}
