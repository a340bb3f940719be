package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RateTest {

    @ParameterizedTest
    @CsvSource({
        "100 per minute, 100, PT1M",
        "5 per 10 minutes, 5, PT10M",
        "20/s, 20, PT1S",
        "20 / 3 s, 20, PT3S",
        "1_000_000 per day, 1000000, PT24H",
        "3 per PT1H30M, 3, PT1H30M",
        "7 Per Hours, 7, PT1H",
        "9 per 250ms, 9, PT0.25S",
        "2 per 2h, 2, PT2H"
    })
    void readsPermitsAndTime(String text, long permits, Duration period) {
        assertThat(Rate.parse(text.replace("Per", "per"))).isEqualTo(new Rate(permits, period));
    }

    @Test
    void aNumberAloneHasNoTime() {
        assertThat(Rate.parse(" 20 ")).isEqualTo(new Rate(20, null));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "lots",
                "-5 per minute",
                "0 per minute",
                "5 per",
                "5 per fortnight",
                "5 perminute",
                "5 per 0 seconds",
                "5 per -1s",
                "5.5 per minute",
                "99999999999999999999 per second",
                "5 per minute or so",
                "5 per PT0S"
            })
    void whatIsNoneIsRefused(String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> Rate.parse(text));
    }

    @Test
    void aRefusalSaysHowOneIsWritten() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Rate.parse("5 per fortnight"))
                .withMessageContaining("'fortnight' is no time")
                .withMessageContaining("'100 per minute'");
    }
}
