package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.redis.ScriptReply.Answer;
import io.github.reactorratelimit.redis.ScriptReply.KeyStatus;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScriptReplyTest {

    private static final List<String> NOT_PAUSED = List.of("0", "0", "0", "0", "0");

    /** With what holds for a key that is not paused put behind the first value. */
    private static List<Object> reply(Object... values) {
        List<Object> reply = new ArrayList<>(Arrays.asList(values));
        if (!reply.isEmpty()) {
            reply.addAll(1, NOT_PAUSED);
        }
        return reply;
    }

    @Test
    void everyAskHasItsAnswer() {
        ScriptReply reply = ScriptReply.parse(
                reply(
                        "1758000000123456",
                        "1",
                        "9",
                        "0",
                        "100000",
                        "0",
                        "30000",
                        "0",
                        "2",
                        "9007199254740991",
                        "7",
                        "1",
                        ""),
                ScriptCalls.takes(2),
                2);

        assertThat(reply.key().nowMicros()).isEqualTo(1_758_000_000_123_456L);
        assertThat(reply.answers())
                .containsExactly(
                        new Answer(true, 9, 0, 100_000, 0, 30_000),
                        new Answer(false, 2, (1L << 53) - 1, 7, 1, Algorithm.UNKNOWN));
    }

    @Test
    void bytesAreReadAsStringsAre() {
        Object[] values = Arrays.stream(new String[] {"-5", "1", "9", "0", "3", "0", "2"})
                .map(value -> value.getBytes(StandardCharsets.US_ASCII))
                .toArray();

        ScriptReply reply = ScriptReply.parse(reply(values), ScriptCalls.takes(1), 1);

        assertThat(reply)
                .isEqualTo(new ScriptReply(
                        new KeyStatus(-5, 0, 0, 0, 0, false), List.of(new Answer(true, 9, 0, 3, 0, 2))));
    }

    @Test
    void timesThatNobodyCanKnowAreUnknown() {
        ScriptReply reply = ScriptReply.parse(reply("1", "0", "0", "", "", "0", ""), ScriptCalls.takes(1), 1);

        assertThat(reply.answers())
                .containsExactly(new Answer(false, 0, Algorithm.UNKNOWN, Algorithm.UNKNOWN, 0, Algorithm.UNKNOWN));
    }

    @Test
    void permitsThatWereTakenStandInThePlaceOfTheWait() {
        List<Object> values = reply("1", "1", "9", "0", "3", "0", "1", "1", "5", "4", "3", "0", "1");

        ScriptReply reply = ScriptReply.parse(values, List.of(Ask.take(1), Ask.takeUpTo(7)), 1);

        assertThat(reply.answers()).containsExactly(new Answer(true, 9, 0, 3, 0, 1), new Answer(true, 5, 4, 3, 0, 1));
        assertThatThrownBy(() -> ScriptReply.parse(values, List.of(Ask.takeUpTo(7), Ask.take(1)), 1))
                .isInstanceOf(RedisReplyException.class)
                .hasMessageContaining("allowed");
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "NULL",
            value = {
                "0,abc,now",
                "0,'',now",
                "0,NULL,now",
                "0,1e3,now",
                "0,9007199254740992,now",
                "0,99999999999999999999,now",
                "1,2,allowed",
                "1,0,allowed",
                "1,true,allowed",
                "2,-1,remaining",
                "2,' 1',remaining",
                "2,1.5,remaining",
                "2,-0,remaining",
                "2,0x10,remaining",
                "2,nan,remaining",
                "3,7,allowed",
                "3,-7,wait",
                "4,-1,reset",
                "4,inf,reset",
                "4,007,reset",
                "5,2,part",
                "5,-1,part",
                "5,'',part",
                "6,-1,more",
                "6,soon,more"
            })
    void whatIsNoAnswerIsAnErrorThatNamesTheValue(int index, String value, String name) {
        List<Object> values = reply("1758000000123456", "1", "9", "0", "100000", "1", "5");
        ScriptReply.parse(values, ScriptCalls.takes(1), 2);

        values.set(index == 0 ? 0 : index + NOT_PAUSED.size(), value);

        assertThatThrownBy(() -> ScriptReply.parse(values, ScriptCalls.takes(1), 2))
                .isInstanceOf(RedisReplyException.class)
                .hasMessageContaining(name);
    }

    @Test
    void aKeyTellsItsPauseAndWhatBecameOfItsSlots() {
        List<Object> values = List.of("7", "9", "-3", "2", "-8", "1", "1", "4", "12", "5", "0", "");

        ScriptReply reply = ScriptReply.parse(values, List.of(Ask.reserve(1, 99, 1)), 1);

        assertThat(reply)
                .isEqualTo(new ScriptReply(
                        new KeyStatus(7, 9, -3, 2, -8, true),
                        List.of(new Answer(true, 4, 12, 5, 0, Algorithm.UNKNOWN))));
    }

    @Test
    void anotherNumberOfValuesIsAnError() {
        assertThatThrownBy(() -> ScriptReply.parse(reply("1"), ScriptCalls.takes(1), 1))
                .isInstanceOf(RedisReplyException.class)
                .hasMessage("reply to 1 asks has 6 values instead of 12, the first is String");
        assertThatThrownBy(() -> ScriptReply.parse(reply(), ScriptCalls.takes(1), 1))
                .isInstanceOf(RedisReplyException.class);
        assertThatThrownBy(
                        () -> ScriptReply.parse(reply("1", "1", "9", "0", "1", "0", "0", "0"), ScriptCalls.takes(1), 1))
                .isInstanceOf(RedisReplyException.class);
    }

    @Test
    void whatIsNoArrayOfStringsIsAnError() {
        assertThatThrownBy(() -> ScriptReply.parse("OK", ScriptCalls.takes(1), 1))
                .isInstanceOf(RedisReplyException.class);
        assertThatThrownBy(() -> ScriptReply.parse(null, ScriptCalls.takes(1), 1))
                .isInstanceOf(RedisReplyException.class);
        assertThatThrownBy(() -> ScriptReply.parse(reply("1", 1L, "9", "0", "1", "0", "0"), ScriptCalls.takes(1), 1))
                .isInstanceOf(RedisReplyException.class)
                .hasMessageContaining("allowed");
    }

    @Test
    void errorsOfTheScriptsAreToldApart() {
        assertThat(ScriptReply.isCorrupt("RATELIMITCORRUPT the key holds another type"))
                .isTrue();
        assertThat(ScriptReply.isCorrupt("ERR RATELIMITCORRUPT")).isFalse();
        assertThat(ScriptReply.outsideWindows("RATELIMITWINDOW 1758000000123456"))
                .hasValue(1_758_000_000_123_456L);
        assertThat(ScriptReply.outsideWindows("RATELIMITWINDOW -1")).hasValue(-1);
        assertThat(ScriptReply.outsideWindows("RATELIMITWINDOW soon")).isEmpty();
        assertThat(ScriptReply.outsideWindows("OOM command not allowed")).isEmpty();
    }
}
