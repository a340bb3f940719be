package io.github.reactorratelimit.testing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SeedsTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");

    @Test
    void seedOfATestIsTheSameInEveryDefaultBuildAndNewInTheLongForm() {
        long first = Seeds.of("one");
        long second = Seeds.of("one");
        assertThat(second == first).isEqualTo(!FULL || Long.getLong("ratelimit.seed") != null);
    }

    @Test
    void givenSeedIsUsedWhateverTheTest() {
        String before = System.getProperty("ratelimit.seed");
        System.setProperty("ratelimit.seed", "4711");
        try {
            assertThat(Seeds.of("one")).isEqualTo(4711);
            assertThat(Seeds.of("other")).isEqualTo(4711);
        } finally {
            if (before == null) {
                System.clearProperty("ratelimit.seed");
            } else {
                System.setProperty("ratelimit.seed", before);
            }
        }
    }
}
