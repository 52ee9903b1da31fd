/// The words that date and time literals are made of.
enum DateTimeWords {
  /// 1…12 for an English month name or its usual short form.
  static func month(_ word: String) -> Int? {
    if word == "sept" { return 9 }
    let names = [
      "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
      "november",
      "december",
    ]
    return names.firstIndex { $0 == word || (word.utf8.count == 3 && $0.hasPrefix(word)) }.map { $0 + 1 }
  }

  static func isDay(_ word: String) -> Bool {
    switch word {
    case "sun", "sunday", "mon", "monday", "tue", "tues", "tuesday", "wed", "weds", "wednesday", "thu",
      "thur",
      "thurs", "thursday", "fri", "friday", "sat", "saturday":
      true
    default: false
    }
  }

  /// Seconds east of UTC for an abbreviation of the default set.
  static func abbreviation(_ word: String) -> Int? {
    let quarters: Int
    switch word {
    case "z", "utc", "gmt", "ut", "zulu", "uct", "wet": quarters = 0
    case "est", "cdt": quarters = -20
    case "edt", "ast": quarters = -16
    case "cst", "mdt": quarters = -24
    case "mst", "pdt": quarters = -28
    case "pst", "akdt": quarters = -32
    case "akst": quarters = -36
    case "hst": quarters = -40
    case "adt", "brt": quarters = -12
    case "nst": quarters = -14
    case "ndt": quarters = -10
    case "bst", "cet", "west", "met": quarters = 4
    case "cest", "mest", "eet", "ist", "sast": quarters = 8
    case "eest", "idt", "msk": quarters = 12
    case "msd": quarters = 16
    case "pkt": quarters = 20
    case "npt": quarters = 23
    case "ict": quarters = 28
    case "awst", "sgt", "hkt", "pht": quarters = 32
    case "jst", "kst": quarters = 36
    case "acst": quarters = 38
    case "aest": quarters = 40
    case "acdt": quarters = 42
    case "aedt": quarters = 44
    case "nzst": quarters = 48
    case "nzdt": quarters = 52
    default: return nil
    }
    return quarters * 900
  }
}
