package io.github.reactorratelimit.documentation;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.micrometer.RateLimitMeter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Links lead somewhere, figures are shown together with the command that draws them, and nothing is left out. */
class GuideTest {

    private static final Pattern NAMED_TEST = Pattern.compile("`([A-Z]\\w+Test)`");

    @Test
    void everyLinkLeadsToAFile() throws IOException {
        for (Guide guide : Guide.all()) {
            assertThat(guide.links())
                    .as("links of " + guide.name())
                    .allSatisfy(link -> assertThat(guide.target(link)).exists());
        }
    }

    @Test
    void everyAnchorIsAHeading() throws IOException {
        for (Guide guide : Guide.all()) {
            assertThat(guide.links())
                    .as("links of " + guide.name())
                    .filteredOn(link -> link.contains("#"))
                    .allSatisfy(
                            link -> assertThat(Guide.read(guide.target(link)).anchors())
                                    .contains(link.substring(link.indexOf('#') + 1)));
        }
    }

    @Test
    void anchorsAreThoseOfGitHub() {
        String text = """
                # Why `limitRate`, and *how*?
                ## Two-part_name — see [there](other.md)
                ```text
                # no heading
                ```
                ## Meters
                ## Meters
                """;
        Guide guide = new Guide(Path.of("some.md"), text);

        assertThat(guide.anchors())
                .containsExactlyInAnyOrder("why-limitrate-and-how", "two-part_name--see-there", "meters", "meters-1");
    }

    @Test
    void everyGuideIsLinkedFromTheReadme() throws IOException {
        Guide readme = Guide.read(Guide.ROOT.resolve("README.md"));
        Set<Path> linked = readme.links().stream().map(readme::target).collect(Collectors.toSet());

        assertThat(Guide.all()).allSatisfy(guide -> {
            if (guide.path().getParent().endsWith("docs")) {
                assertThat(linked).contains(guide.path());
            }
        });
    }

    @Test
    void everyFigureIsShown() throws IOException {
        Set<Path> shown =
                Guide.all().stream().flatMap(guide -> guide.images().stream()).collect(Collectors.toSet());

        assertThat(Guide.filesBelow("docs"))
                .filteredOn(file -> file.toString().endsWith(".svg"))
                .hasSizeGreaterThan(10)
                .isSubsetOf(shown);
    }

    @Test
    void whoShowsAFigureTellsTheCommandThatDrawsIt() throws IOException {
        for (Guide guide : Guide.all()) {
            assertThat(guide.images())
                    .as("figures of " + guide.name())
                    .allSatisfy(figure -> assertThat(Command.in(guide)).anyMatch(command -> command.draws(figure)));
        }
    }

    @Test
    void everyTestThatIsNamedExists() throws IOException {
        for (Guide guide : Guide.all()) {
            List<String> named = NAMED_TEST
                    .matcher(guide.text())
                    .results()
                    .map((MatchResult match) -> match.group(1))
                    .toList();
            assertThat(named)
                    .as("tests in " + guide.name())
                    .allSatisfy(test -> assertThat(Command.sourcesOf(test)).isNotEmpty());
        }
    }

    @Test
    void everyMeterIsExplained() throws IOException {
        String watching = Guide.read(Guide.ROOT.resolve("docs/watching.md")).text();

        assertThat(Arrays.stream(RateLimitMeter.values()).map(RateLimitMeter::meterName))
                .allSatisfy(meter -> assertThat(watching).contains("`" + meter + "`"));
    }
}
