/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As much of GoogleTest as the tests in harness/unit use, over KUnit: they run in the kernel as they stand, against the
 * objects of the module. Each file is a suite, each TEST a case, each TEST_P a parameterised case.
 */
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

#include "kunit/glue/kunit.h"

/* libstdc++ from GCC 13 on declares it where there is an operating system only. */
namespace std {
template <typename, typename> class basic_ostream;
using ostream = basic_ostream<char, char_traits<char>>;
} // namespace std

/* What PrintTo() writes to. */
template <> class std::basic_ostream<char, std::char_traits<char>> {
    public:
	basic_ostream &operator<<(const char *text) { return *this << std::string_view(text); }
	basic_ostream &operator<<(std::string_view text)
	{
		for (const char character : text) {
			if (used_ + 1 < sizeof(text_))
				text_[used_++] = character;
		}
		text_[used_] = '\0';
		return *this;
	}
	template <typename T>
	requires std::is_integral_v<T> basic_ostream &operator<<(T value)
	{
		char digits[24];
		rpcordma_kunit_format(digits, sizeof(digits), static_cast<long long>(value), std::is_unsigned_v<T>);
		return *this << digits;
	}
	[[nodiscard]] const char *text() const { return text_; }

    private:
	char text_[160] = {};
	std::size_t used_ = 0;
};

namespace testing {

template <typename T>
concept Printable = requires(const T &value, std::ostream *out)
{
	PrintTo(value, out);
};

template <typename T> void print(std::ostream &out, const T &value)
{
	if constexpr (Printable<T>) {
		PrintTo(value, &out);
	} else if constexpr (std::is_enum_v<T>) {
		out << static_cast<std::underlying_type_t<T>>(value);
	} else if constexpr (std::is_integral_v<T> || std::is_convertible_v<const T &, std::string_view>) {
		out << value;
	} else if constexpr (requires { value.has_value(), *value; }) {
		if (value.has_value())
			print(out, *value);
		else
			out << "nothing";
	} else if constexpr (requires { value.begin(), value.end(); }) {
		for (const auto &element : value) {
			print(out, element);
			out << " ";
		}
	} else {
		out << "(not printable)";
	}
}

/* How an expectation came out; takes what a test says about a failure. */
class Outcome {
    public:
	explicit Outcome(bool passed)
		: passed_(passed)
	{
	}
	[[nodiscard]] bool passed() const { return passed_; }
	template <typename T> const Outcome &operator<<(const T &note) const
	{
		if (!passed_) {
			std::ostream out;
			print(out, note);
			rpcordma_kunit_note("with", out.text());
		}
		return *this;
	}

    private:
	bool passed_;
};

/* What a failed assertion returns. */
struct Nothing {
	void operator=(const Outcome &) const {}
};

[[gnu::noinline]] inline Outcome expect(bool passed, const char *expectation, const char *file, int line)
{
	if (!passed)
		rpcordma_kunit_fail(file, line, expectation);
	return Outcome(passed);
}

template <typename A, typename B>
[[gnu::noinline]] Outcome expect(bool passed, const A &a, const B &b, const char *expectation, const char *file,
				 int line)
{
	const Outcome outcome = expect(passed, expectation, file, line);
	outcome << a;
	outcome << b;
	return outcome;
}

inline Outcome same_text(const char *a, const char *b, const char *expectation, const char *file, int line)
{
	const bool same = !a || !b ? a == b : std::string_view(a) == b;
	return expect(same, a ? a : "null", b ? b : "null", expectation, file, line);
}

class Test {
    public:
	static bool HasFailure() { return rpcordma_kunit_has_failed(); }
};

template <typename T> class TestWithParam : public Test {
    public:
	using ParamType = T;
	static const T &GetParam() { return *static_cast<const T *>(rpcordma_kunit_parameter()); }
};

/* The parameters of a suite. */
template <typename T> struct Values {
	const T *begin;
	const T *end;
};

template <typename T, std::size_t size> constexpr Values<T> ValuesIn(const T (&values)[size])
{
	return {values, values + size};
}

template <typename T> struct TestParamInfo {
	const T &param;
};

template <typename T> void run(struct kunit *)
{
	T test;
	test.body();
}

/* What KUnit asks for the parameters. INSTANTIATE_TEST_SUITE_P declares the two functions. */
template <typename T> const void *next_parameter(RPCORDMA_KUNIT_FOR_TEST const void *previous, char *description)
{
	using Parameter = typename T::ParamType;
	const Values<Parameter> values = parameters_of(static_cast<T *>(nullptr));
	const Parameter *const next = previous ? static_cast<const Parameter *>(previous) + 1 : values.begin;
	if (next == values.end)
		return nullptr;
	rpcordma_kunit_describe(description, name_of(static_cast<T *>(nullptr), TestParamInfo<Parameter>{*next}));
	return next;
}

} // namespace testing

/* The cases are found by the section that these pointers are in. */
#define RPCORDMA_KUNIT_CASE(type, next)                                                                          \
	static constexpr rpcordma_kunit_case type##_case{__FILE__, __LINE__, #type, testing::run<type>, next};   \
	[[gnu::section(RPCORDMA_KUNIT_CASES), gnu::used]] static const rpcordma_kunit_case *const type##_entry = \
		&type##_case;

#define TEST(suite, name)                            \
	struct suite##_##name : testing::Test {      \
		static void body();                  \
	};                                           \
	RPCORDMA_KUNIT_CASE(suite##_##name, nullptr) \
	void suite##_##name::body()

#define TEST_P(suite, name)                                                          \
	struct suite##_##name : suite {                                              \
		static void body();                                                  \
	};                                                                           \
	RPCORDMA_KUNIT_CASE(suite##_##name, testing::next_parameter<suite##_##name>) \
	void suite##_##name::body()

#define INSTANTIATE_TEST_SUITE_P(prefix, suite, values, ...)                   \
	[[maybe_unused]] constexpr auto parameters_of(const suite *)           \
	{                                                                      \
		return values;                                                 \
	}                                                                      \
	template <typename Info> const char *name_of(const suite *, Info info) \
	{                                                                      \
		return __VA_ARGS__(info);                                      \
	}

#define EXPECT_TRUE(condition) testing::expect((condition) ? true : false, #condition, __FILE__, __LINE__)
#define EXPECT_FALSE(condition) testing::expect(!((condition) ? true : false), "not " #condition, __FILE__, __LINE__)
#define RPCORDMA_EXPECT(a, op, b)                                                                                \
	[&](const auto &one, const auto &other) {                                                                \
		return testing::expect(static_cast<bool>(one op other), one, other, #a " " #op " " #b, __FILE__, \
				       __LINE__);                                                                \
	}(a, b)
#define EXPECT_EQ(a, b) RPCORDMA_EXPECT(a, ==, b)
#define EXPECT_NE(a, b) RPCORDMA_EXPECT(a, !=, b)
#define EXPECT_LT(a, b) RPCORDMA_EXPECT(a, <, b)
#define EXPECT_LE(a, b) RPCORDMA_EXPECT(a, <=, b)
#define EXPECT_GT(a, b) RPCORDMA_EXPECT(a, >, b)
#define EXPECT_GE(a, b) RPCORDMA_EXPECT(a, >=, b)
#define EXPECT_STREQ(a, b) testing::same_text(a, b, #a " equals " #b, __FILE__, __LINE__)

#define RPCORDMA_ASSERT(expectation)                                            \
	if (const testing::Outcome outcome = (expectation); outcome.passed()) { \
	} else                                                                  \
		return testing::Nothing() = outcome
#define ASSERT_TRUE(condition) RPCORDMA_ASSERT(EXPECT_TRUE(condition))
#define ASSERT_FALSE(condition) RPCORDMA_ASSERT(EXPECT_FALSE(condition))
#define ASSERT_EQ(a, b) RPCORDMA_ASSERT(EXPECT_EQ(a, b))
#define ASSERT_GE(a, b) RPCORDMA_ASSERT(EXPECT_GE(a, b))
