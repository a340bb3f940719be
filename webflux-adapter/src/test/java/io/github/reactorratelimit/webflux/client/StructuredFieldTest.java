package io.github.reactorratelimit.webflux.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.webflux.client.StructuredField.Member;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.greenbytes.http.sfv.ListElement;
import org.greenbytes.http.sfv.ParseException;
import org.greenbytes.http.sfv.Parser;
import org.greenbytes.http.sfv.TokenItem;
import org.junit.jupiter.api.Test;

/** Reads what somebody else's parser reads, as that does, and refuses what that refuses. */
class StructuredFieldTest {

    private static final List<String> PIECES = List.of(
            "\"burst\"",
            "\"",
            "\\",
            "\\\"",
            ";",
            ";r=0",
            ";t=5",
            ";a",
            "=",
            ",",
            ", ",
            " ",
            "\t",
            "-",
            "0",
            "7",
            "12.5",
            "1.",
            ".5",
            "1.2345",
            "123456789012345",
            "1234567890123456",
            "1234567890123.1",
            "?1",
            "?0",
            "?2",
            "?",
            ":aGk=:",
            ":aGk",
            ":a*k=:",
            "token",
            "to:k/en",
            "*",
            "A",
            "remaining",
            "remaining=0",
            "reset=5",
            "limit=-1",
            "!",
            "é",
            "\u0000",
            "\u007f",
            "_x");

    private static String random(Random random) {
        StringBuilder text = new StringBuilder();
        for (int pieces = random.nextInt(8); pieces >= 0; pieces--) {
            text.append(PIECES.get(random.nextInt(PIECES.size())));
        }
        return text.toString();
    }

    private static String plain(Object value) {
        if (value instanceof StructuredField.Token token) {
            return "token " + token.word();
        }
        if (value instanceof StructuredField.Bytes bytes) {
            return "bytes " + new String(Base64.getDecoder().decode(bytes.base64()), StandardCharsets.US_ASCII);
        }
        if (value instanceof ByteBuffer bytes) {
            return "bytes " + StandardCharsets.US_ASCII.decode(bytes);
        }
        if (value instanceof BigDecimal decimal) {
            return "decimal " + decimal.stripTrailingZeros().toPlainString();
        }
        return value.getClass().getSimpleName() + " " + value;
    }

    private static String plain(Member member) {
        Map<String, String> parameters = new TreeMap<>();
        member.parameters().forEach((name, value) -> parameters.put(name, plain(value)));
        return plain(member.value()) + parameters;
    }

    private static String theirs(org.greenbytes.http.sfv.Parametrizable<?> item) {
        Map<String, String> parameters = new TreeMap<>();
        item.getParams().forEach((name, value) -> parameters.put(name, theirValue(value)));
        return theirValue(item) + parameters;
    }

    private static String theirValue(org.greenbytes.http.sfv.Parametrizable<?> item) {
        return item instanceof TokenItem token ? "token " + token.get() : plain(item.get());
    }

    private static Optional<List<String>> theirList(String text) {
        try {
            List<String> members = new ArrayList<>();
            for (ListElement<?> member : new Parser(text).parseList().get()) {
                members.add(theirs(member));
            }
            return Optional.of(members);
        } catch (ParseException malformed) {
            return Optional.empty();
        }
    }

    private static Optional<Map<String, String>> theirDictionary(String text) {
        try {
            Map<String, String> members = new TreeMap<>();
            new Parser(text).parseDictionary().get().forEach((name, member) -> members.put(name, theirs(member)));
            return Optional.of(members);
        } catch (ParseException malformed) {
            return Optional.empty();
        }
    }

    private static Optional<List<String>> ourList(String text) {
        return StructuredField.list(text)
                .map(members -> members.stream().map(StructuredFieldTest::plain).toList());
    }

    private static Optional<Map<String, String>> ourDictionary(String text) {
        return StructuredField.dictionary(text).map(members -> {
            Map<String, String> plain = new TreeMap<>();
            members.forEach((name, member) -> plain.put(name, plain(member)));
            return plain;
        });
    }

    private static void same(String text, Optional<?> ours, Optional<?> theirs) {
        if (!ours.equals(theirs)) {
            assertThat(ours).as(text).isEqualTo(theirs);
        }
    }

    @Test
    void readsListsAsSomebodyElseDoes() {
        Random random = new Random(Seeds.of("lists"));
        int read = 0;
        for (int i = 0; i < 20_000; i++) {
            String text = random(random);
            Optional<List<String>> ours = ourList(text);
            same(text, ours, theirList(text));
            read += ours.isPresent() ? 1 : 0;
        }
        assertThat(read).isGreaterThan(200);
    }

    @Test
    void readsDictionariesAsSomebodyElseDoes() {
        Random random = new Random(Seeds.of("dictionaries"));
        int read = 0;
        for (int i = 0; i < 20_000; i++) {
            String text = random(random);
            Optional<Map<String, String>> ours = ourDictionary(text);
            same(text, ours, theirDictionary(text));
            read += ours.isPresent() ? 1 : 0;
        }
        assertThat(read).isGreaterThan(40);
    }

    @Test
    void readsDatesAndRefusesWhatTheFieldsAboutLimitsNeverHold() {
        assertThat(StructuredField.list("a;x=@1659578233"))
                .hasValueSatisfying(members -> assertThat(members.get(0).parameters())
                        .containsEntry("x", new StructuredField.Date(1_659_578_233L)));
        assertThat(StructuredField.list("a;x=@1.5")).isEmpty();
        assertThat(StructuredField.list("(a b)")).isEmpty();
        assertThat(StructuredField.list("%\"a\"")).isEmpty();
    }
}
